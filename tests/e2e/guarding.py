"""Shared by the end-to-end tests of the guard: a control group of a given size, and reading the state of processes."""
import os
import signal
import time
from pathlib import Path

from harness import skip

SPECIMENS = Path(os.environ.get("PLIMSOLL_SPECIMENS", Path(os.path.abspath(os.sys.argv[1])).parent / "specimens"))


class Group:
    """A memory control group of version 1 or 2 with a limit; the test is skipped where none can be made."""

    def __init__(self, limit):
        v1, v2 = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")
        self.version = 1 if (v1 / "memory.limit_in_bytes").exists() else 2
        self.path = (v1 if self.version == 1 else v2) / f"plimsoll-test-{os.getpid()}-{time.monotonic_ns()}"
        try:
            self.path.mkdir()
            (self.path / ("memory.limit_in_bytes" if self.version == 1 else "memory.max")).write_text(str(limit))
        except OSError as error:
            if self.path.exists():
                self.path.rmdir()
            skip(f"no memory control group can be made here ({error})")

    def enter(self):
        """For preexec_fn: the process that calls it belongs to the group from then on."""
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def kills(self):
        """How often the kernel has killed for lack of memory in here."""
        name = "memory.oom_control" if self.version == 1 else "memory.events"
        fields = dict(line.split() for line in (self.path / name).read_text().splitlines())
        return int(fields["oom_kill"])

    def used(self):
        name = "memory.usage_in_bytes" if self.version == 1 else "memory.current"
        return int((self.path / name).read_text())

    def peak(self):
        """The most it has ever used; version 2 keeps it since Linux 5.19."""
        return int((self.path / ("memory.max_usage_in_bytes" if self.version == 1 else "memory.peak")).read_text())

    def kernel_peak(self):
        """The most that page tables, stacks and the like took, which no process's footprint contains; 0 with version 2."""
        return int((self.path / "memory.kmem.max_usage_in_bytes").read_text()) if self.version == 1 else 0

    def members(self):
        return [int(pid) for pid in (self.path / "cgroup.procs").read_text().split()]

    def remove(self):
        for _ in range(200):
            for pid in self.members():
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            try:
                self.path.rmdir()
                return
            except OSError:
                time.sleep(0.02)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()


def state(pid):
    """As in proc(5), None where it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return None


def descendants(pid):
    """Living processes below `pid`."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                parents[int(entry)] = int(Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                pass
    found, grown = {pid}, True
    while grown:
        more = {child for child, parent in parents.items() if parent in found and child not in found}
        found |= more
        grown = bool(more)
    return [one for one in found - {pid} if state(one) not in (None, "Z", "X")]
