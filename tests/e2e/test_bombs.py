#!/usr/bin/env python3
"""Twenty-one kinds of memory bombs under `guard --limit` and in a control group: the guard acts before the kernel and in time.

For each: no kernel kill, a peak of at most the limit and 5 %, the process that grew is the one stopped, its quiet neighbour
lives, and nothing is left stopped. The short form runs those that have got away before.
"""
import atexit
import shutil
import tempfile

from guarding import SPECIMENS, Group, state
from harness import LONG, PROGRAM, Path, environment, json, os, signal, subprocess, sys, time

LIMIT = 400_000_000
UNLIMITED = 1 << 40
BASE = Path(tempfile.mkdtemp(prefix="plimsoll-bombs-"))
atexit.register(shutil.rmtree, BASE, True)
TMPFS = Path(tempfile.mkdtemp(prefix="plimsoll-bombs-", dir="/dev/shm"))
atexit.register(shutil.rmtree, TMPFS, True)

KINDS = ("private", "heap", "populate", "huge_pages", "threads", "shared", "shared_by_four", "memfd_mapped", "memfd_written",
         "memfd_one_write", "memfd_fallocate", "tmpfs_mapped", "tmpfs_written", "tmpfs_many_files", "fork_storm", "fork_chain",
         "daemon", "stubborn", "stubborn_daemon_shared", "moves_itself", "child_moves")
SHORT = (("group", "private"), ("group", "moves_itself"), ("group", "child_moves"), ("group", "tmpfs_many_files"), ("limit", "shared"),
         ("limit", "memfd_mapped"), ("limit", "memfd_written"), ("limit", "tmpfs_written"))
# How far a tree gets before it stands still depends on what else the machine does: only the long form holds us to 5 %.
MOST = (1.05 if LONG else 1.5) * LIMIT


def numbers(path):
    return [int(word) for word in path.read_text().split()] if path.exists() else []


def living(pids):
    return [pid for pid in pids if state(pid) not in (None, "Z", "X")]


class Bomb:
    """One bomb beside a neighbour that holds 40 MB. The shell that starts both ends at once: the tree's root is soon gone."""

    def __init__(self, mode, kind, number):
        self.mode, self.kind = mode, kind
        self.folder = BASE / f"{mode}-{kind}-{number}"
        self.folder.mkdir()
        self.culprits, self.sibling = self.folder / "culprits", self.folder / "sibling"

    def run(self):
        with Group(LIMIT if self.mode == "group" else UNLIMITED) as group:
            moves = "moves" in self.kind
            limit = ["--limit", str(LIMIT)] if self.mode == "limit" else []
            enter = "" if moves or self.mode == "group" else f"echo $$ > {group.path}/cgroup.procs; "
            script = (f'{enter}"{SPECIMENS}/quiet_neighbour" 40 & echo $! > {self.sibling}; sleep 2.5; '
                      f'{enter}"{SPECIMENS}/bombs" {self.kind} 2000 {group.path} &')
            with open(self.folder / "out", "w") as out, open(self.folder / "err", "w") as err:
                guard = subprocess.Popen([PROGRAM, "guard", "--json", "--grace", "2s", *limit, "--", "sh", "-c", script],
                                         preexec_fn=group.enter if self.mode == "group" and not moves else None, stdout=out,
                                         stderr=err, env=environment({"SPECIMEN_CULPRITS": str(self.culprits), "SPECIMEN_TMPFS": str(TMPFS)}))
            try:
                self.watch(guard, group)
                self.end(guard)
            finally:
                if guard.poll() is None:
                    guard.kill()
                    guard.wait()
                for pid in self.everybody() + group.members():
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
                for file in TMPFS.iterdir():
                    file.unlink()
            self.judge(guard.returncode)
        return self

    def everybody(self):
        return numbers(self.sibling) + numbers(self.culprits)

    def stopped(self):
        return [pid for pid in self.everybody() if state(pid) in ("T", "t")]

    def watch(self, guard, group):
        """Until one process has been ended and the others go on, or for half a minute."""
        self.faults = []
        end = time.monotonic() + 30
        while guard.poll() is None and not group.kills():
            if "ended after" in (self.folder / "err").read_text() and not self.stopped():
                break
            if time.monotonic() > end:
                self.faults.append("nothing was stopped, or others with it")
                break
            time.sleep(0.02)
        self.kills, self.peak = group.kills(), group.peak() - (group.kernel_peak() if self.mode == "limit" else 0)
        if self.kills:
            self.faults.append(f"{self.kills} kernel kills")
        if not living(numbers(self.sibling)):
            self.faults.append("the neighbour was hit")
        if self.peak > MOST:
            self.faults.append(f"peak {self.peak / 1e6:.0f} MB")

    def end(self, guard):
        """The guard is asked to leave, twice: then nothing may stand."""
        for _ in range(2):
            if guard.poll() is None:
                guard.terminate()
                time.sleep(0.1)
        try:
            guard.wait(20)
        except subprocess.TimeoutExpired:
            self.faults.append("the guard did not end")
        if left := self.stopped():
            self.faults.append(f"left stopped: {left}")

    def judge(self, code):
        lines = (self.folder / "out").read_text().splitlines()
        report = json.loads(lines[-1]) if lines else {"actions": [], "limit_bytes": 0}
        self.limit = report["limit_bytes"]
        victims = [action["pid"] for action in report["actions"] if action["action"] in ("SIGTERM", "SIGKILL")]
        if not victims or not set(victims) <= set(numbers(self.culprits)):
            self.faults.append(f"stopped {victims}")
        if code != 11:
            self.faults.append(f"code {code}")

    def row(self):
        return (f"{self.mode:<6} {self.kind:<24} peak {self.peak / 1e6:5.0f} MB  limit {self.limit / 1e6:6.0f} MB  kernel kills {self.kills}  "
                f"{'; '.join(self.faults) or 'ok'}")


def main():
    chosen = [(m, k) for m in ("limit", "group") for k in KINDS] if LONG else SHORT
    if names := [word for word in sys.argv[2:] if "/" in word]:  # such as limit/shared
        chosen = [tuple(name.split("/")) for name in names]
    failed = 0
    for number, (mode, kind) in enumerate(chosen):
        bomb = Bomb(mode, kind, number).run()
        print(bomb.row(), flush=True)
        if bomb.faults:
            failed += 1
            print((bomb.folder / "err").read_text()[-1500:], flush=True)
    assert failed == 0, f"{failed} of {len(chosen)} bombs"
    print(f"{len(chosen)} bombs: no kernel kill, no peak above {MOST / 1e6:.0f} MB")


main()
