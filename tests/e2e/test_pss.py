"""The memory that `watch` counts for a process, what it owns, agrees with the kernel's mapping list to within a page."""
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
    """The least and the most that a process may own by its mapping list: the PSS of mappings without a file, which the kernel rounds down to
    whole kilobytes, and the pages of private file mappings that were written to, which the list counts whole however many share them."""
    low = high = rss = pss = 0
    of_file = False
    with open(f"/proc/{pid}/smaps") as file:
        for line in file:
            words = line.split()
            if not words[0].endswith(":"):
                of_file = words[4] != "0"
            elif words[0] == "Rss:":
                rss = int(words[1])
            elif words[0] == "Pss:":
                pss = int(words[1])
                low += 0 if of_file else pss * 1024
                high += 0 if of_file else (pss + (pss != rss)) * 1024
            elif words[0] == "Anonymous:" and of_file:
                high += min(int(words[1]), pss + 1) * 1024
    return low, high


class Bounds(threading.Thread):
    """Lowest and highest bound seen for each process while this runs."""

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
        """How far `counted` is outside of what was seen."""
        return max(min(low for low, _ in self.seen[pid]) - counted, counted - max(high for _, high in self.seen[pid]), 0)


def test_owned_memory_agrees_with_the_mapping_list():
    tree = subprocess.Popen(python(CODE), stdout=subprocess.PIPE, start_new_session=True)
    try:
        for _ in range(6):
            tree.stdout.readline()
        time.sleep(0.2)
        children = Path(f"/proc/{tree.pid}/task/{tree.pid}/children").read_text().split()
        bounds = Bounds([tree.pid, *map(int, children)])
        time.sleep(0.1)
        found = {p["pid"]: p["bytes"] for p in watch("--json", "--all", "--for", "500ms", "--interval", "50ms", "--pid", tree.pid).json["processes"]}
        time.sleep(0.1)
        bounds.stop.set()
        bounds.join()
        assert sorted(found) == sorted(bounds.pids), found
        page = os.sysconf("SC_PAGESIZE")
        for pid, counted in found.items():
            assert bounds.off_by(pid, counted) <= page, (pid, counted, bounds.off_by(pid, counted))
        return f"{len(found)} processes"
    finally:
        os.killpg(tree.pid, signal.SIGKILL)
        tree.wait()


run_all(globals())
