"""A real memory control group for a test, and another process in it that uses as much memory as it is told to."""

import os
import subprocess
import sys
import time
from pathlib import Path

from harness import skip

# Fills pages at a rate until a size is reached, then says so and waits for its end. 0 MB/s: all at once.
EATER = """
import sys, time
rate, most = float(sys.argv[1]) * 1e6, int(float(sys.argv[2]) * 1e6)
kept, step = [], 1 << 20
began = time.monotonic()
while len(kept) * step < most:
    kept.append(bytearray(b"x") * step)
    if rate:
        time.sleep(max(0, began + len(kept) * step / rate - time.monotonic()))
print("full", flush=True)
time.sleep(1000)
"""


class Group:
    """A version 1 group of `limit` bytes below our own; skips the test where none can be made."""

    def __init__(self, limit):
        base = Path("/sys/fs/cgroup/memory")
        if not (base / "memory.limit_in_bytes").exists():
            skip("no cgroup v1 memory controller is mounted")
        self.folder = base / f"plimsoll-test-{os.getpid()}"
        try:
            self.folder.mkdir()
            self.write("memory.limit_in_bytes", limit)
        except OSError as error:
            skip(f"no memory control group can be made here ({error.strerror})")
        self.children = []

    def write(self, name, value):
        (self.folder / name).write_text(str(value))

    def read(self, name):
        return int((self.folder / name).read_text())

    def kills(self):
        for line in (self.folder / "memory.oom_control").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
        return 0

    def inside(self, program):
        """A command line that runs `program` in the group."""
        return ["sh", "-c", f'echo $$ > {self.folder}/cgroup.procs && exec "$@"', "sh", *program]

    def eater(self, rate, most):
        child = subprocess.Popen(self.inside([sys.executable, "-c", EATER, str(rate), str(most)]), stdout=subprocess.PIPE)
        self.children.append(child)
        return child

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for child in self.children:
            child.kill()
            child.wait()
        for _ in range(100):
            try:
                self.folder.rmdir()
                return
            except OSError:
                time.sleep(0.05)
