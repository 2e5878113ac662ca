"""Shared by the tests of failing memory and files: running the program with the injector of tests/faults preloaded."""
import os
import shutil
import subprocess
from pathlib import Path

from harness import PROGRAM, Temporary, environment, run, skip

INJECTOR = Path(os.environ.get("PLIMSOLL_BUILD", Path(PROGRAM).parent)) / "faults" / "fault_injector.so"


def need_injector():
    if not INJECTOR.exists():
        skip(f"{INJECTOR} is not built")
    if b"__asan_init" in Path(PROGRAM).read_bytes() or b"__tsan_init" in Path(PROGRAM).read_bytes():
        skip("a sanitizer has an allocator of its own")


def run_faulty(folder, arguments, fault=None, log=None, timeout=120):
    """The completed process in `folder`, and how many (allocations, file operations) there were; none where it did not count."""
    count = folder.parent / f"{folder.name}.count"
    count.unlink(missing_ok=True)
    extra = {"LD_PRELOAD": str(INJECTOR), "PLIMSOLL_FAULT_UNDER": str(folder), "PLIMSOLL_FAULT_COUNT": str(count)}
    if fault:
        extra["PLIMSOLL_FAULT"] = fault
    if log:
        extra["PLIMSOLL_FAULT_LOG"] = str(log)
    done = subprocess.run([PROGRAM, *arguments], cwd=folder, env=environment(extra), capture_output=True, timeout=timeout,
                          stdin=subprocess.DEVNULL)
    numbers = count.read_text().split()[:2] if count.exists() else (0, 0)
    return done, tuple(map(int, numbers))


def fresh(base, name, source=None):
    """An empty folder, or a copy of `source`."""
    folder = base / name
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, folder) if source else folder.mkdir()
    return folder


def chosen(total, most):
    """Numbers from 1 to `total`, at most `most`: all of the first, where static constructors run, then spread evenly."""
    if total <= most:
        return list(range(1, total + 1))
    first = most // 4
    step = (total - first) / (most - first)
    return sorted({*range(1, first + 1), *(first + 1 + int(i * step) for i in range(most - first))})


def each_command(commands, test):
    """test(base, name, source, arguments) for each command; `source` holds a run r where the command needs one before."""
    need_injector()
    with Temporary() as temporary:
        source = temporary.path / "source"
        source.mkdir()
        run(source, "train", "--tiny", "4", "--checkpoint-every", "2", "--out", "r")
        for name, before, arguments in commands:
            test(temporary.path, name, source if before else None, arguments)
