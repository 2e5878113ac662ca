"""plimsoll profile: sites of a program that the kernel kills for lack of memory, and the table of where the memory is."""
import os
import re
import subprocess
import sys
import tempfile
import textwrap

from guarding import Group
from watching import PLIMSOLL, Result, run_all

if not os.path.exists(os.path.join(os.path.dirname(PLIMSOLL), "libplimsoll_heap.so")):
    print("skipped: the library to preload is not built here")
    sys.exit(77)


def profile(*arguments):
    done = subprocess.run([PLIMSOLL, "profile", "--quiet", "--json", "--interval", "100ms", "--rate", "64KiB", *map(str, arguments)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    return Result(done.returncode, done.stdout, done.stderr)


def script(folder, text):
    path = os.path.join(folder, "program.py")
    with open(path, "w") as file:
        file.write(textwrap.dedent(text))
    return path


def test_killed_by_the_kernel():
    program = """
    import time
    kept = []
    def keep():
        kept.append(bytearray(300_000))  # the leak
    for i in range(100_000):
        keep()
        print("held", 300_000 * (i + 1), flush=True)
        time.sleep(0.005)
    """
    group = Group(150_000_000)
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = script(folder, program)
            enter = f'echo $$ > {group.path / "cgroup.procs"}; exec "$@"'
            result = profile("--", "sh", "-c", enter, "sh", sys.executable, path)
            assert result.code == 137 and group.kills() >= 1, (result.code, group.kills(), result.err.decode())
            held = int(re.findall(rb"held (\d+)", result.out)[-1])
            site = result.json["sites"][0]
            assert (site["file"], site["line"]) == (path, 5), site
            assert 0.9 * held < site["bytes"] < 1.1 * held, (site["bytes"], held)
            return f"{site['bytes'] / 1e6:.1f} of {held / 1e6:.1f} MB"
    finally:
        group.remove()


# Holds what it was asked to, of one kind, says what the kernel counts, and stays for the watcher to see it.
HOLDS = """
import ctypes, mmap, os, sys, tempfile, threading, time
kind, kept = sys.argv[1], []
if kind == "objects":
    kept = [{"a": i, "b": str(i)} for i in range(150_000)]
if kind == "buffers":
    kept = [bytearray(1_000_000) for _ in range(60)]
if kind == "mapped":
    with open(sys.executable, "rb") as file:
        kept.append(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        sum(kept[0][::4096])
if kind == "shared":
    kept.append(mmap.mmap(-1, 40_000_000))
    kept[0][:] = bytes(40_000_000)
if kind == "threads":
    for _ in range(20):
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
if kind == "children":
    data = bytearray(40_000_000)
    kept = [os.fork()]
    if kept[0] == 0:
        data[:20_000_000] = bytes(20_000_000)
        time.sleep(60)
time.sleep(2)
def pss(pid):
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return 1024 * sum(int(line.split()[1]) for line in file if line.startswith("Pss:"))
with open(f"/proc/self/task/{os.getpid()}/children") as file:
    tree = [os.getpid(), *map(int, file.read().split())]
print("pss", sum(map(pss, tree)), flush=True)
if kind == "children":
    os.kill(kept[0], 9)
os._exit(0)
"""


def test_the_table_adds_up_to_what_the_kernel_counts():
    said = []
    with tempfile.TemporaryDirectory() as folder:
        path = script(folder, HOLDS)
        for kind in ("objects", "buffers", "mapped", "shared", "threads", "children"):
            result = profile("--", sys.executable, path, kind)
            counted = int(re.search(rb"pss (\d+)", result.out)[1])
            memory = result.json["memory"]
            parts = sum(value for key, value in memory.items() if key != "pss_bytes")
            assert 0.95 * counted < parts < 1.05 * counted, (kind, parts, counted, memory)
            # Nothing was freed here to speak of: what a child inherits and copies is not taken for it.
            assert memory["retained_bytes"] < 6e6 + 0.1 * parts, (kind, memory)
            said.append(f"{kind} {100 * (parts / counted - 1):+.1f} %")
    return ", ".join(said)


# Buffers are cut down to their results where they lie, each longer than the last: the holes between are kept. Then it is told to
# give them back, in another run, and says how much that was.
RETAINS = """
import ctypes, os, sys, time
libc, results = ctypes.CDLL(None), []
libc.malloc.restype = libc.realloc.restype = ctypes.c_void_p
libc.realloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
for number in range(500):
    sizes = [20_000 + 48 * (4 * number + part) for part in range(4)]
    buffers = [libc.malloc(ctypes.c_size_t(size)) for size in sizes]
    for buffer, size in zip(buffers, sizes):
        ctypes.memset(buffer, 1, size)
        results.append(libc.realloc(buffer, 32))
time.sleep(2)
def resident():
    with open("/proc/self/statm") as file:
        return 4096 * int(file.read().split()[1])
before = resident()
if sys.argv[1] == "trim":
    libc.malloc_trim(0)
    print("trimmed", before - resident(), flush=True)
os._exit(0)
"""


def test_what_is_kept_is_what_trimming_gives_back():
    with tempfile.TemporaryDirectory() as folder:
        path = script(folder, RETAINS)
        kept = profile("--", sys.executable, path, "keep").json["memory"]["retained_bytes"]
        done = subprocess.run([sys.executable, path, "trim"], stdout=subprocess.PIPE, check=True)
        trimmed = int(re.search(rb"trimmed (\d+)", done.stdout)[1])
        assert 0.8 * trimmed < kept < 1.2 * trimmed, (kept, trimmed)
        return f"{kept / 1e6:.1f} MB kept, {trimmed / 1e6:.1f} MB given back"


RESERVES = """
import ctypes, os, sys, time
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
place = libc.malloc(200_000_000)
if sys.argv[1] == "touched":
    ctypes.memset(place, 1, 200_000_000)
time.sleep(7)
os._exit(0)
"""


def test_what_is_never_touched_is_said_to_take_no_memory():
    with tempfile.TemporaryDirectory() as folder:
        path = script(folder, RESERVES)
        for how in ("untouched", "touched"):
            result = profile("--", sys.executable, path, how)
            said = re.search(r"about (\S+) MB was asked for and never touched", result.err.decode())
            assert bool(said) == (how == "untouched"), result.err.decode()
            memory = result.json["memory"]["live_heap_bytes"]
            assert (memory < 60e6) == (how == "untouched"), memory
            if said:
                assert 180 < float(said[1]) < 220, said[0]


run_all(dict(globals()))
