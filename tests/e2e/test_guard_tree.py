#!/usr/bin/env python3
"""Forty processes that fork continuously are all stopped and all continued; however the guard ends, no process stays stopped."""
import atexit
import shutil
import struct
import tempfile

from guarding import SPECIMENS, descendants, state
from harness import PROGRAM, Path, environment, json, os, signal, subprocess, time

BASE = Path(tempfile.mkdtemp(prefix="plimsoll-tree-"))
atexit.register(shutil.rmtree, BASE, True)
COUNT = 40


def until(condition, seconds=120, what=""):
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
    """A tree that stands, under a guard whose line for a pause lies far below what the tree holds and whose line for a stop far above."""

    def __init__(self, name, bound):
        self.file = BASE / name
        policy = BASE / f"{name}.toml"
        policy.write_text(f'max_memory = "20MB"\nwarn_threshold = "0.2MB"\nmemory_threshold_percentage = 2\npause_threshold = "0.5MB"\n'
                          f'stop_threshold = "100%"\nprediction_horizon = "0s"\npause_bound = "{bound}"\npause_alone = "{bound}"\n')
        self.error = open(BASE / f"{name}.err", "w+")
        self.root = subprocess.Popen([str(SPECIMENS / "forking_tree"), str(self.file), str(COUNT)])
        until(lambda: len(self.tree()) >= COUNT, what=f"{COUNT} processes")
        self.process = subprocess.Popen([PROGRAM, "guard", "--json", "--policy", str(policy), "--grace", "1s", "--pid", str(self.root.pid)],
                                        stdout=subprocess.PIPE, stderr=self.error, env=environment())

    def text(self):
        self.error.flush()
        return Path(self.error.name).read_text()

    def tree(self):
        return [pid for pid in [self.root.pid, *descendants(self.root.pid)] if "forking_tree" in text_of(pid, "comm")]

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
