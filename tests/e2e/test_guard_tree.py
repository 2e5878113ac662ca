#!/usr/bin/env python3
"""Forty processes that fork all the time are stopped to the last one and all go on; whatever ends the guard, nobody stays stopped."""
import atexit
import shutil
import struct
import tempfile

from guarding import SPECIMENS, descendants, state
from harness import PROGRAM, Path, environment, json, os, signal, subprocess, time

BASE = Path(tempfile.mkdtemp(prefix="plimsoll-tree-"))
atexit.register(shutil.rmtree, BASE, True)
COUNT = 40


def until(condition, seconds=20, what=""):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited {seconds} s for {what}"
        time.sleep(0.01)


def counter(path):
    return struct.unpack("Q", path.read_bytes()[:8])[0]


def text_of(pid, what):
    """A file of a process; empty where it has ended meanwhile, as they do all the time."""
    try:
        return Path(f"/proc/{pid}/{what}").read_text()
    except OSError:
        return ""


class Guarded:
    """The tree under a guard whose own line is so low that it pauses at once and stays so."""

    def __init__(self, name, bound):
        self.file = BASE / name
        policy = BASE / f"{name}.toml"
        # 1 MB: forty processes hold more. Held by themselves alone, so that bound is set as well.
        policy.write_text(f'max_memory = "3MB"\npause_threshold = "40%"\nstop_threshold = "100%"\nmemory_threshold_percentage = 30\n'
                          f'pause_bound = "{bound}"\npause_alone = "{bound}"\n')
        self.error = open(BASE / f"{name}.err", "w+")
        self.process = subprocess.Popen([PROGRAM, "guard", "--json", "--policy", str(policy), "--grace", "1s", "--",
                                         str(SPECIMENS / "forking_tree"), str(self.file), str(COUNT)],
                                        stdout=subprocess.PIPE, stderr=self.error, env=environment())

    def text(self):
        self.error.flush()
        return Path(self.error.name).read_text()

    def tree(self):
        # The guard's own little process, in a session of its own, is no part of the tree.
        return [pid for pid in descendants(self.process.pid) if "forking_tree" in text_of(pid, "comm")]

    def all_stopped(self):
        states = [state(pid) for pid in self.tree()]
        return "T" in states and all(one in "TZ" for one in states if one)  # one that has ended waits for its parent


def stands_still(path):
    before = counter(path)
    time.sleep(0.3)
    return counter(path) == before


def check_pause(guarded):
    until(lambda: "SIGSTOP" in guarded.text(), what="a pause")
    until(guarded.all_stopped, what="everybody to be stopped")
    assert stands_still(guarded.file), "somebody has escaped"
    return guarded.tree()


def none_stopped(pids):
    return all(state(pid) != "T" for pid in pids)


def test_terminated():
    guarded = Guarded("terminated", "60s")
    pids = check_pause(guarded)
    guarded.process.send_signal(signal.SIGTERM)
    until(lambda: none_stopped(pids), what="everybody to go on after SIGTERM")
    guarded.process.send_signal(signal.SIGTERM)
    guarded.process.wait(20)
    time.sleep(0.2)
    assert none_stopped(pids)
    return pids, guarded


def test_killed():
    guarded = Guarded("killed", "60s")
    pids = check_pause(guarded)
    guarded.process.kill()
    guarded.process.wait(20)
    until(lambda: none_stopped(pids), what="everybody to go on after SIGKILL")
    assert not stands_still(guarded.file)
    return pids, guarded


def end():
    """Members and what they forked since: by name, the parents being gone."""
    for _ in range(1000):
        living = [int(entry) for entry in os.listdir("/proc") if entry.isdigit() and state(entry) not in (None, "Z", "X")
                  and "forking_tree" in text_of(entry, "comm") and str(BASE) in text_of(entry, "cmdline")]
        if not living:
            return
        for pid in living:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


for test in (test_terminated, test_killed):
    try:
        pids, guarded = test()
        assert len(pids) >= COUNT, f"only {len(pids)} processes were seen stopped\n{guarded.text()}"
        print(f"ok {test.__name__}: {len(pids)} processes stopped and resumed")
    finally:
        end()
