"""What `watch` counts as a process's memory is what the kernel's own mapping list and procps (libproc2) say, within a page."""
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


def test_pss_agrees_with_smaps_and_procps():
    tree = subprocess.Popen(python(CODE), stdout=subprocess.PIPE, start_new_session=True)
    try:
        for _ in range(6):
            tree.stdout.readline()
        time.sleep(0.2)
        found = {p["pid"]: p["bytes"] for p in watch("--json", "--all", "--for", "500ms", "--interval", "50ms", "--pid", tree.pid).json["processes"]}
        assert len(found) == 6, found
        page = os.sysconf("SC_PAGESIZE")
        for pid, counted in found.items():
            expected, rounded = smaps(pid)
            assert abs(counted - expected) <= page + 1024 * rounded, (pid, counted, expected, rounded)
        ps = subprocess.run(["ps", "-o", "pid=,pss=", "-p", ",".join(map(str, found))], capture_output=True, text=True)
        if ps.returncode:
            return "without procps: " + ps.stderr.strip()
        for line in ps.stdout.splitlines():
            pid, pss = map(int, line.split())
            assert abs(found[pid] - pss * 1024) <= page, (pid, found[pid], pss * 1024)
        return f"{len(found)} processes"
    finally:
        os.killpg(tree.pid, signal.SIGKILL)
        tree.wait()


run_all(globals())
