"""Shared by the end-to-end tests: running the program, observing it from outside, comparing folders. Standard library only."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
PROGRAM = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else str(SOURCE / "build" / "plimsoll")
LONG = "--long" in sys.argv[2:]  # the form `make soak` runs


SANITIZED = any(mark in Path(PROGRAM).read_bytes() for mark in (b"__asan_init", b"__tsan_init"))


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def needs_plain_memory(what):
    """For tests of bytes and allocations: under a sanitizer both are the sanitizer's."""
    if SANITIZED:
        skip(f"{what}; a sanitizer has a malloc and memory of its own")


class Ended:
    """How a process ended; its peak memory and its processor time as the kernel counted them, where it was waited for from here."""

    def __init__(self, code, out, err, peak=0, seconds=0):
        self.code, self.out, self.err, self.peak, self.seconds = code, out, err, peak, seconds

    def __str__(self):
        return f"code {self.code}\nstdout: {self.out[-2000:]}\nstderr: {self.err[-2000:]}"

    def json(self):
        """The one object on stdout: nothing before it, nothing after it."""
        lines = self.out.splitlines()
        assert len(lines) == 1, f"stdout is not one line: {self.out[:500]!r}"
        return json.loads(lines[0])


def environment(extra=None):
    """Ours without any setting of the caller's."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PLIMSOLL_")}
    return {**kept, **(extra or {})}


class Running:
    """The program at work in `folder`, its output in files there is no pipe to fill."""

    def __init__(self, folder, *arguments, program=None, env=None):
        self.log = tempfile.TemporaryDirectory()
        self.paths = [Path(self.log.name, name) for name in ("out", "err")]
        with open(self.paths[0], "wb") as out, open(self.paths[1], "wb") as err:
            self.process = subprocess.Popen([*(program or [PROGRAM]), *map(str, arguments)], cwd=folder, stdout=out, stderr=err,
                                            stdin=subprocess.DEVNULL, env=environment(env))

    def alive(self):
        # Looks without reaping: wait() wants the usage.
        return os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def send(self, number):
        os.kill(self.process.pid, number)  # send_signal would reap a process that has just ended

    def text(self, which=1):
        return self.paths[which].read_text(errors="replace")

    def wait(self, timeout=600):
        until = time.monotonic() + timeout
        while True:
            pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() > until:
                self.process.kill()
                self.process.wait()
                raise AssertionError(f"no end after {timeout} s: {self.process.args}\n{self.text()[-2000:]}")
            time.sleep(0.005)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        return Ended(self.process.returncode, self.text(0), self.text(1), usage.ru_maxrss * 1024,
                     usage.ru_utime + usage.ru_stime)


def run(folder, *arguments, expect=0, timeout=600, program=None, env=None):
    ended = Running(folder, *arguments, program=program, env=env).wait(timeout)
    assert expect is None or ended.code == expect, f"plimsoll {' '.join(map(str, arguments))}: expected code {expect}, got {ended}"
    return ended


def listing(folder):
    """Every path below with its content's hash: equal listings are equal folders."""
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        name = str(path.relative_to(folder))
        found[name] = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() and not path.is_symlink() else "folder"
    return found


def checkpoints(folder):
    """Finished checkpoints' steps, ascending."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    return sorted(int(name[5:]) for name in names if name.startswith("step-") and name[5:].isdigit())


def saving(folder):
    """The step being written just now, or none: a `.step-N.tmp` newer than all checkpoints (older ones are being removed)."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return None
    steps = [int(name[6:-4]) for name in names if name.startswith(".step-") and name.endswith(".tmp")]
    newest = max(checkpoints(folder), default=-1)
    return max((step for step in steps if step > newest), default=None)


def same_checkpoint(one, other, step):
    """Model and optimizer are the same to the byte."""
    for name in ("model.safetensors", "optimizer.safetensors"):
        a, b = (Path(run_folder, f"step-{step:06}", name).read_bytes() for run_folder in (one, other))
        assert a == b, f"{name} of step {step} differs between {one} and {other}"


class Temporary:
    """A folder that goes away, mounts in it included."""

    def __enter__(self):
        self.path = Path(tempfile.mkdtemp(prefix="plimsoll-"))
        self.mounts = []
        return self

    def __exit__(self, *_):
        for path in reversed(self.mounts):
            subprocess.run(["umount", path], check=False)
        shutil.rmtree(self.path, ignore_errors=True)

    def mount(self, name, *options):
        """A mounted folder, or none where this may not be done."""
        path = self.path / name
        path.mkdir()
        done = subprocess.run(["mount", *options, str(path)], capture_output=True)
        if done.returncode:
            path.rmdir()
            return None
        self.mounts.append(str(path))
        return path


__all__ = ["LONG", "PROGRAM", "SANITIZED", "SOURCE", "Ended", "Running", "Temporary", "checkpoints", "environment", "json", "listing", "needs_plain_memory", "os",
           "run", "same_checkpoint", "saving", "signal", "skip", "sys", "time", "Path", "shutil", "subprocess"]
