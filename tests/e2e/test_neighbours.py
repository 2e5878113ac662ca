"""A program that stands still is flat, whatever its neighbours do: the pages of a file it shares with them are not its memory.

test_neighbours.py PLIMSOLL"""
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import time

READS = """
import mmap, sys, time
with open(sys.argv[1], "rb") as file:
    pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
sum(pages[::4096])
held = bytearray(30_000_000)
print("ready", flush=True)
sys.stdin.read() if sys.argv[2] == "neighbour" else time.sleep(float(sys.argv[2]))
"""


def pss_of(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("Pss:"))


def main():
    plimsoll = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "shared"
        path.write_bytes(os.urandom(1 << 20) * 60)
        record = pathlib.Path(folder) / "run.db"
        reader = [sys.executable, "-c", READS, str(path)]
        neighbours = [subprocess.Popen([*reader, "neighbour"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(4)]
        for neighbour in neighbours:
            neighbour.stdout.readline()
        watched = subprocess.Popen([*reader, "3600"], stdout=subprocess.PIPE)
        watched.stdout.readline()
        watch = subprocess.Popen([plimsoll, "watch", "--pid", str(watched.pid), "--quiet", "--interval", "50ms", "--out", str(record)])
        try:
            before = pss_of(watched.pid)
            while not record.exists():
                time.sleep(0.05)
            for neighbour in neighbours:
                time.sleep(1)
                neighbour.communicate()
            time.sleep(1)
            after = pss_of(watched.pid)
        finally:
            watched.kill()
            watched.wait()
            watch.wait(60)
        rows = sqlite3.connect(record).execute("SELECT pss FROM memory WHERE pss > 0").fetchall()
    values = [row[0] for row in rows]
    assert after - before > 30_000_000, f"the neighbours did not matter: PSS went from {before} to {after}"
    assert len(values) >= 20, f"only {len(values)} samples"
    assert max(values) - min(values) < 0.01 * max(values), f"what it owns moved from {min(values)} to {max(values)}"
    print(f"PSS went from {before} to {after}, what it owns stayed within {max(values) - min(values)} bytes of {max(values)}")


if __name__ == "__main__":
    main()
