#!/usr/bin/env python3
"""A power loss at any moment of a training run leaves a run folder that can be resumed.

The order of writes, renames and syncs of a run is recorded. After every operation three states of the disk are rebuilt: only
what was synced is there; everything is there; all names are there, but only the content that was synced. In each of them
the newest checkpoint whose name was synced must be usable. The short form looks at some of the states, the long form at all.
"""
import hashlib

from faulty import chosen, fresh, need_injector, run_faulty
from harness import LONG, Path, Temporary, checkpoints, run, shutil, sys

NAMED = next((int(word) for word in sys.argv[2:] if word.isdigit()), 0)
MOST = NAMED or (1_000_000 if LONG else 20)


class File:
    def __init__(self):
        self.content, self.synced = b"", b""

    def sync(self):
        self.synced = self.content


class Folder:
    def __init__(self):
        self.names, self.synced = {}, {}

    def sync(self):
        self.synced = dict(self.names)


class Disk:
    """What the file system holds, and what of it would survive."""

    def __init__(self, root):
        self.path, self.root = root, Folder()

    def find(self, path):
        at = self.root
        for part in Path(path).relative_to(self.path).parts:
            at = at.names[part]
        return at

    def parent(self, path):
        return self.find(Path(path).parent).names, Path(path).name

    def apply(self, what, path, other, offset, data):
        if what == "sync":
            return self.find(path).sync()
        names, name = self.parent(path)
        if what in ("create", "folder"):
            names[name] = File() if what == "create" else Folder()
        elif what == "remove":
            names.pop(name)
        elif what in ("rename", "exchange"):
            to, to_name = self.parent(other)
            moved = names.pop(name)
            if what == "exchange":
                names[name] = to[to_name]
            to[to_name] = moved
        elif what == "truncate":
            names[name].content = names[name].content[:offset].ljust(offset, b"\0")
        else:
            old = names[name].content.ljust(offset, b"\0")
            names[name].content = old[:offset] + data + old[offset + len(data):]

    def state(self, names_synced, content_synced):
        """Path to content, of folders none."""
        found = {}

        def walk(folder, before):
            for name, entry in (folder.synced if names_synced else folder.names).items():
                if isinstance(entry, Folder):
                    found[f"{before}{name}"] = None
                    walk(entry, f"{before}{name}/")
                else:
                    found[f"{before}{name}"] = entry.synced if content_synced else entry.content

        walk(self.root, "")
        return found


def operations(log):
    data, at = log.read_bytes(), 0
    while at < len(data):
        end = data.index(b"\n", at)
        what, path, other, offset, size = data[at:end].decode().split("\t")
        at = end + 1 + int(size)
        yield what, path, other, int(offset), data[end + 1:at]


def write(state, folder):
    for name, content in sorted(state.items()):
        path = folder / name
        if content is None:
            path.mkdir(parents=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def main():
    need_injector()
    with Temporary() as temporary:
        work, log = fresh(temporary.path, "work"), temporary.path / "log"
        arguments = ["train", "--tiny", "8", "--checkpoint-every", "2", "--keep", "2", "--out", "r"]
        done, _ = run_faulty(work, arguments, log=log)
        assert done.returncode == 0, done
        disk, states, last, count = Disk(work), {}, None, 0
        for operation in operations(log):
            disk.apply(*operation)
            count += 1
            if operation[0] == "sync" and operation[1].endswith("/r"):  # what is named now may be relied on
                steps = [int(name[5:]) for name in disk.find(operation[1]).names if name.startswith("step-") and name[5:].isdigit()]
                last = max(steps, default=last)
            for how in ((True, True), (False, False), (False, True)):
                state = disk.state(*how)
                key = hashlib.sha256(repr(sorted(state.items())).encode()).digest()
                states.setdefault(key, (count, how, last, state))
        assert count > 50 and last == 8, f"{count} operations, {last}"
        resumed = 0
        every = [state for state in states.values() if state[2] is not None]  # before the first save nothing is promised
        for number in chosen(len(every), MOST):
            at, how, promised, state = every[number - 1]
            folder = fresh(temporary.path, "state")
            write(state, folder)
            where = f"after operation {at} of {count}, names synced {how[0]}, content synced {how[1]}: {checkpoints(folder / 'r')}"
            newest = max(checkpoints(folder / "r"), default=0)
            ended = run(folder, "train", "--resume", "r", "--iterations", 9, expect=None)
            assert ended.code == 0, f"{where}, promised {promised}: {ended}"
            assert newest >= promised, f"{where}: step {promised} is lost"
            resumed += 1
        print(f"{count} operations, {len(states)} states, {len(every)} after the first checkpoint, {resumed} of them resumed")


main()
