"""The memory that `watch` counts for a process agrees with the kernel's mapping list and with procps (libproc2) to within a
page."""
import threading
from pathlib import Path

from watching import *

CODE = """
    import mmap, os, signal, time
    block = mmap.mmap(-1, 32_000_000, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for i in range(0, len(block), 4096): block[i] = 1
    for k in range(5):
        if os.fork() == 0:
            for i in range(0, k * 1_000_000, 4096): block[i] = 2
            break
    print("ready")
    signal.pause()
"""


def smaps(pid):
    """Sum of PSS over all mappings, and how many of them the kernel rounded down to whole kilobytes."""
    total = rounded = rss = 0
    with open(f"/proc/{pid}/smaps") as file:
        for line in file:
            words = line.split()
            if words[0] == "Rss:":
                rss = int(words[1])
            if words[0] == "Pss:":
                total += int(words[1]) * 1024
                rounded += int(words[1]) != rss
    return total, rounded


class Bounds(threading.Thread):
    """Lowest and highest sum seen for each process while this runs: PSS moves whenever anyone starts or stops sharing a library's page."""

    def __init__(self, pids):
        super().__init__(daemon=True)
        self.pids, self.stop, self.seen = pids, threading.Event(), {pid: [] for pid in pids}
        self.start()

    def run(self):
        while not self.stop.is_set():
            for pid in self.pids:
                self.seen[pid].append(smaps(pid))
            time.sleep(0.01)

    def off_by(self, pid, counted):
        """How far `counted` is outside of what was seen, less what the kernel rounds away."""
        low = min(total for total, _ in self.seen[pid])
        high = max(total + 1024 * rounded for total, rounded in self.seen[pid])
        return max(low - counted, counted - high, 0)


def test_pss_agrees_with_smaps_and_procps():
    tree = subprocess.Popen(python(CODE), stdout=subprocess.PIPE, start_new_session=True)
    try:
        for _ in range(6):
            tree.stdout.readline()
        time.sleep(0.2)
        children = Path(f"/proc/{tree.pid}/task/{tree.pid}/children").read_text().split()
        bounds = Bounds([tree.pid, *map(int, children)])
        time.sleep(0.1)
        found = {p["pid"]: p["bytes"] for p in watch("--json", "--all", "--for", "500ms", "--interval", "50ms", "--pid", tree.pid).json["processes"]}
        ps = subprocess.run(["ps", "-o", "pid=,pss=", "-p", ",".join(map(str, found))], capture_output=True, text=True)
        time.sleep(0.1)
        bounds.stop.set()
        bounds.join()
        assert sorted(found) == sorted(bounds.pids), found
        page = os.sysconf("SC_PAGESIZE")
        for pid, counted in found.items():
            assert bounds.off_by(pid, counted) <= page, (pid, counted, bounds.off_by(pid, counted))
        if ps.returncode:
            return "without procps: " + ps.stderr.strip()
        for line in ps.stdout.splitlines():
            pid, pss = map(int, line.split())
            assert bounds.off_by(pid, pss * 1024) <= page, (pid, pss * 1024)
        return f"{len(found)} processes"
    finally:
        os.killpg(tree.pid, signal.SIGKILL)
        tree.wait()


run_all(globals())
