"""`plimsoll watch` in special situations: vanishing, stopped and dead processes, strange names, full disks, hidden processes,
fork storms."""
import contextlib
import sqlite3

from watching import *


def test_strange_names_are_shown_escaped():
    code = """
        import ctypes, time
        ctypes.CDLL(None).prctl(15, b"a\\n\\x1b[31m) R 1", 0, 0, 0)
        time.sleep(1)
    """
    result = watch("--interval", "50ms", "--json", "--all", "--", *python(code))
    assert b"\x1b" not in result.err + result.out
    assert any("\\n\\x1b[31m" in p["name"] for p in result.json["processes"]), result.json["processes"]


def test_secrets_do_not_reach_the_record():
    record = os.path.join(tempfile.mkdtemp(), "run.db")
    result = watch("--interval", "20ms", "--out", record, "--json", "--all", "--", *python("import time; time.sleep(0.5)"), "--token", "hunter2",
                   "API_KEY=hunter2", "https://me:hunter2@host/x")
    everything = "".join(sqlite3.connect(record).iterdump()) + result.out.decode() + result.err.decode()
    assert "hunter2" not in everything
    assert "--token ***" in everything


def test_a_storm_of_short_lived_children():
    process = start("--json", "--interval", "10ms", "--quiet", "--", os.path.join(SPECIMENS, "fork_storm"), "10000")
    highest = 0
    while process.poll() is None:
        try:
            with open(f"/proc/{process.pid}/status") as status:
                highest = max([highest] + [int(line.split()[1]) for line in status if line.startswith("VmHWM")])
        except OSError:
            pass
        time.sleep(0.05)
    result = finish(process)
    assert result.code == 0
    assert documented(result.json)
    assert highest <= 24_000 or SANITIZED, highest
    return f"watcher at most {highest / 1000:.1f} MB"


def test_targets_that_vanish_stop_or_are_dead():
    target = subprocess.Popen(["sleep", "60"])
    process = start("--json", "--interval", "20ms", "--pid", target.pid)
    time.sleep(0.5)
    target.kill(), target.wait()
    result = finish(process)
    assert result.code == 0 and documented(result.json)
    assert watch("--pid", target.pid).code == 2

    target = subprocess.Popen(["sleep", "60"])
    target.send_signal(signal.SIGSTOP)
    result = watch("--json", "--interval", "20ms", "--for", "500ms", "--pid", target.pid)
    assert result.code == 0 and result.json["verdict"] != "leak"
    target.kill()
    time.sleep(0.1)  # not waited for: a zombie now
    result = watch("--pid", target.pid)
    assert result.code == 2 and b"zombie" in result.err
    target.wait()


def test_a_gap_is_noticed_and_survived():
    process = start("--json", "--interval", "50ms", "--for", "8s", "--pid", os.getpid())
    time.sleep(1)
    process.send_signal(signal.SIGSTOP)
    time.sleep(5.5)
    process.send_signal(signal.SIGCONT)
    result = finish(process)
    assert result.code == 0 and b"no samples for" in result.err, result.err


def test_the_wall_clock_plays_no_part():
    # Only a namespace of its own could turn the clock; what can be shown is that no wall clock is asked for time.
    trace = subprocess.run(["nm", "-D", PLIMSOLL], capture_output=True, text=True).stdout
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src/observe")
    for name in os.listdir(source):
        with open(os.path.join(source, name)) as file:
            text = file.read()
        assert "CLOCK_REALTIME" not in text and "system_clock" not in text and "time(nullptr)" not in text, name
    assert "clock_gettime" in trace or not trace


def test_a_full_disk_under_the_record():
    if os.getuid() != 0:
        return "skipped: needs root to mount"
    folder = tempfile.mkdtemp()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", folder], capture_output=True).returncode:
        return "skipped: may not mount"
    try:
        with open(os.path.join(folder, "filler"), "wb") as file:
            file.write(b"x" * 60_000)
        result = watch("--json", "--interval", "10ms", "--for", "6s", "--out", os.path.join(folder, "run.db"), "--",
                       *python("import time\nkept = []\nfor i in range(600): kept.append(bytearray(100000)); time.sleep(0.01)"))
        assert result.code == 0, result.code
        assert documented(result.json) and result.json["samples"] > 50
        assert b"watching goes on" in result.err, result.err
    finally:
        subprocess.run(["umount", folder])


def test_a_proc_that_hides_processes():
    if os.getuid() != 0:
        return "skipped: needs root to mount"
    target = subprocess.Popen(["sleep", "60"])
    script = f"mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid 65534 --regid 65534 --clear-groups {PLIMSOLL} watch --pid {target.pid}"
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True)
    target.kill(), target.wait()
    if b"mount" in done.stderr or b"unshare" in done.stderr or b"setpriv" in done.stderr:
        return "skipped: " + done.stderr.decode().strip()
    assert done.returncode == 2 and b"hides processes" in done.stderr, done.stderr


def test_another_users_process_is_judged_by_anonymous_memory_and_said_so():
    if os.getuid() != 0:
        return "skipped: needs root to become another user"
    target = subprocess.Popen(["sleep", "60"])
    done = subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", PLIMSOLL, "watch", "--json", "--for", "500ms", "--interval",
                           "20ms", "--pid", str(target.pid)], capture_output=True)
    target.kill(), target.wait()
    if b"setpriv" in done.stderr or done.returncode == 126 or b"ermission denied" in done.stderr:
        return "skipped: " + done.stderr.decode().strip()
    assert done.returncode == 0 and b"resident anonymous memory is used" in done.stderr, done.stderr


def test_a_gpu_library_is_asked_by_process():
    compiler = next((c for c in ("cc", "gcc", "clang") if subprocess.run(["which", c], capture_output=True).returncode == 0), None)
    if not compiler:
        return "skipped: no compiler"
    folder = tempfile.mkdtemp()
    source = """
        #include <stdlib.h>
        typedef struct { unsigned pid; unsigned long long bytes; unsigned a, b; } entry;
        int nvmlInit_v2(void) { return 0; }
        int nvmlShutdown(void) { return 0; }
        int nvmlDeviceGetCount_v2(unsigned* n) { *n = 2; return 0; }
        int nvmlDeviceGetHandleByIndex_v2(unsigned i, void** d) { *d = (void*)(long)(i + 1); return 0; }
        int nvmlDeviceGetComputeRunningProcesses_v3(void* d, unsigned* n, entry* e) {
          e[0] = (entry){(unsigned)atoi(getenv("FAKE_GPU_PID")), 1000000000ull, 0, 0}; *n = 1; return 0; }
    """
    built = subprocess.run([compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", os.path.join(folder, "libnvidia-ml.so.1")], input=source.encode())
    assert built.returncode == 0
    target = subprocess.Popen(["sleep", "60"])
    process = watch("--for", "300ms", "--interval", "50ms", "--pid", target.pid, env=dict(os.environ, LD_LIBRARY_PATH=folder, FAKE_GPU_PID=str(target.pid)))
    target.kill(), target.wait()
    assert b"GPU 2.00 GB" in process.out, process.out


def test_memory_of_the_watcher_is_small_and_flat():
    code = """
        import subprocess, time
        many = [subprocess.Popen(["sleep", "600"]) for _ in range(100)]
        try: time.sleep(600)
        finally:
            for p in many: p.kill()
    """
    record = os.path.join(tempfile.mkdtemp(), "run.db")
    process = start("--quiet", "--interval", "10ms", "--out", record, "--", *python(code))

    def resident_after(rows):
        """Once that many samples are in the record."""
        while process.poll() is None:
            try:
                with contextlib.closing(sqlite3.connect(f"file:{record}?mode=ro", uri=True)) as base:
                    if base.execute("SELECT count(*) FROM memory").fetchone()[0] >= rows:
                        break
            except sqlite3.Error:
                pass
            time.sleep(0.05)
        with open(f"/proc/{process.pid}/smaps_rollup", encoding="utf-8") as file:
            return [int(line.split()[1]) for line in file if line.startswith("Rss:")][0]

    early, late = resident_after(300), resident_after(600)  # by then every buffer has been used
    process.send_signal(signal.SIGINT)
    finish(process)
    if not SANITIZED:
        assert late <= 24_000, late
        assert late <= early + 500, (early, late)
    return f"{early / 1000:.1f} MB, then {late / 1000:.1f} MB"


run_all(globals())
