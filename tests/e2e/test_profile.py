"""plimsoll profile: the line that holds the memory, in Python and C++, however the program ends."""
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

from interpreters import pythons
from profiling import LEAK, LEAKING_LINE, STEPS, check_leak, profile, script
from watching import PLIMSOLL, SPECIMENS, Result, run_all


def test_every_python_however_it_ends():
    ends = {"exit": 0, "kill": 137, "_exit": 3}
    with tempfile.TemporaryDirectory() as folder:
        path = script(folder, LEAK)
        for i, python in enumerate(pythons()):
            end = list(ends)[i % len(ends)]
            result = profile("--", python, path, end, STEPS)
            assert result.code == ends[end], result.err.decode()
            site = check_leak(result, path, LEAKING_LINE, 200_000 * STEPS)
            assert site["language"] == "python" and site["function"] == "handle", site
            assert site["source"].startswith("kept.append("), site
            assert any(f"{path}:" in frame and "<module>" in frame for frame in site["stack"]), site["stack"]
            assert site["none_freed"], site
            print(f"{python} ({end}): {site['bytes'] / 1e6:.1f} of {0.2 * STEPS:.1f} MB at line {site['line']}")


def test_a_small_part_of_a_program_that_frees_everything_at_its_end():
    """What an interpreter frees while it ends must not hide what grew until then."""
    with tempfile.TemporaryDirectory() as folder:
        path = script(folder, """
            import time
            model = [bytearray(1_000_000) for _ in range(200)]
            losses = []
            def train_step():
                losses.append(bytearray(60_000))  # the leak
                time.sleep(0.02)
            for _ in range(300):
                train_step()
            del losses
            time.sleep(0.5)
        """)
        result = profile("--", sys.executable, path)
        site = result.json["sites"][0]
        assert site["line"] == 6 and site["function"] == "train_step", site
        assert site["verdict"] == "leak" and site["share"] > 0.8, site
        assert "train_step" in result.err.decode().split("next: ")[-1], result.err.decode()


def test_native_line():
    result = profile("--", os.path.join(SPECIMENS, "heap_leak"))
    line = int(re.search(rb"line (\d+)", result.out)[1])
    site = result.json["sites"][0]
    assert site["language"] == "native" and site["file"].endswith("heap_leak.cpp"), site
    if site["line"] is not None:
        assert site["line"] == line, site
    assert "remember" in site["function"], site
    assert result.json["answer"] == "leak", result.json


def test_child_process_is_named():
    program = """
    import os, sys, time
    kept = []
    child = os.fork()
    for i in range(250):
        if child == 0:
            kept.append(bytearray(200_000))  # the leak
        time.sleep(0.02)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    print("child", child)
    """
    with tempfile.TemporaryDirectory() as folder:
        path = script(folder, program)
        result = profile("--", sys.executable, path)
        line = next(i for i, text in enumerate(program.split("\n"), 1) if "the leak" in text)
        site = check_leak(result, path, line, 250 * 200_000)
        assert site["pid"] == int(re.search(rb"child (\d+)", result.out)[1]), site


# As a launcher does that is a chain of scripts: each program is seen for a while before it becomes the next.
CHAIN = """
import os, sys, time
time.sleep(0.4)
left = int(sys.argv[1])
os.execv(sys.executable, [sys.executable, *([sys.argv[0], str(left - 1)] if left else []), *sys.argv[2:]])
"""


def test_what_a_process_becomes_by_exec_is_profiled():
    with tempfile.TemporaryDirectory() as folder:
        chain, path = script(folder, CHAIN, "chain.py"), script(folder, LEAK)
        result = profile("--", sys.executable, chain, 3, path, "_exit", STEPS)
        check_leak(result, path, LEAKING_LINE, STEPS * 200_000)


def test_no_line_is_accused_without_a_leak():
    program = """
    import time
    cache = {}
    start = [bytearray(100_000) for _ in range(200)]
    for i in range(400):
        cache[i % 30] = [bytearray(30_000) for _ in range(30)]
        time.sleep(0.02)
    """
    with tempfile.TemporaryDirectory() as folder:
        result = profile("--", sys.executable, script(folder, program))
        json = result.json
        assert json["answer"] in ("no-leak", "undecided"), json["answer"]
        assert not [site for site in json["sites"] if site["verdict"] == "leak"], json["sites"]
        memory = json["memory"]
        parts = sum(value for key, value in memory.items() if key != "pss_bytes")
        assert parts == memory["pss_bytes"], memory
        assert 0.7 * 46e6 < memory["live_heap_bytes"] < 1.3 * 60e6, memory


EPOCHS = """
import os, socket, sys, time
channel, path = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM), os.environ["PLIMSOLL_SOCKET"]
images, copies = {}, []
epochs, more = int(sys.argv[1]), sys.argv[2] == "more"
for epoch in range(epochs):
    channel.sendto(b"epoch %d" % (epoch + 1), path)
    for sample in range(250):
        if sample not in images:
            images[sample] = bytearray(200_000)  # decoded once
        if more:
            copies.append(bytearray(images[sample]))  # the leak
        time.sleep(0.02)
os._exit(0)
"""


def test_filling_is_not_a_leak():
    with tempfile.TemporaryDirectory() as folder:
        path = script(folder, EPOCHS)
        during = profile("--fail-on-leak", "--", sys.executable, path, 1, "once")
        assert during.json["answer"] == "filling" and during.code == 0, during.err.decode()
        after = profile("--fail-on-leak", "--", sys.executable, path, 3, "once")
        assert after.json["answer"] == "no-leak" and after.code == 0, after.err.decode()
        more = profile("--fail-on-leak", "--", sys.executable, path, 2, "more")
        line = next(i for i, text in enumerate(EPOCHS.split("\n"), 1) if "the leak" in text)
        assert more.json["answer"] == "leak" and more.code == 10, more.err.decode()
        assert more.json["sites"][0]["line"] == line, more.json["sites"][0]


def test_a_buffer_as_long_as_an_epoch_is_no_leak():
    # It is full when the second epoch begins, and from then on what is new takes the place of what is oldest.
    program = """
    import collections, os, socket, time
    channel, path = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM), os.environ["PLIMSOLL_SOCKET"]
    replay = collections.deque(maxlen=200)
    for step in range(320):
        if step % 200 == 0:
            channel.sendto(b"epoch %d" % (step // 200 + 1), path)
        replay.append(bytearray(200_000))
        channel.sendto(b"step %d" % (step + 1), path)
        time.sleep(0.05)
    os._exit(0)
    """
    with tempfile.TemporaryDirectory() as folder:
        run = os.path.join(folder, "run.db")
        result = profile("--out", run, "--", sys.executable, script(folder, program))
        said = sqlite3.connect(run).execute("SELECT text FROM events WHERE kind = 'leak'").fetchall()
        assert result.json["answer"] != "leak" and not said, (result.json["answer"], said)


def test_what_is_there_at_the_first_step_is_no_growth():
    # The model comes from the line that leaks later, after the first look at the program.
    program = """
    import os, socket, time
    channel, path = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM), os.environ["PLIMSOLL_SOCKET"]
    kept = []
    def take(size):
        kept.append(bytearray(size))
    time.sleep(0.5)
    take(60_000_000)
    for step in range(200):
        take(200_000)
        channel.sendto(b"step %d" % (step + 1), path)
        time.sleep(0.03)
    os._exit(0)
    """
    with tempfile.TemporaryDirectory() as folder:
        site = profile("--", sys.executable, script(folder, program)).json["sites"][0]
        assert site["function"] == "take" and 0.75 * 40e6 < site["grown_bytes"] < 1.25 * 40e6, site


def test_what_to_try_is_said_with_the_line():
    program = """
    import functools, os, time
    @functools.lru_cache(maxsize=None)
    def decode(name):
        return bytearray(200_000)  # the leak
    for i in range(300):
        decode(i)
        time.sleep(0.02)
    os._exit(0)
    """
    with tempfile.TemporaryDirectory() as folder:
        run = os.path.join(folder, "run.db")
        result = profile("--out", run, "--", sys.executable, script(folder, program))
        assert "cache of decode" in result.json["sites"][0]["hint"], result.json["sites"][0]
        assert b"What to try: give the cache of decode a bound" in result.err, result.err.decode()
        report = subprocess.run([PLIMSOLL, "report", run, "--format", "md"], stdout=subprocess.PIPE)
        assert b"What to try: give the cache of decode" in report.stdout, report.stdout.decode()
        # The line of the program is named, and grows as fast as was said; what was allocated once does not.
        first = result.json["sites"][0]
        rows = sqlite3.connect(run).execute("SELECT place, sum(bytes_per_second) FROM sites GROUP BY place").fetchall()
        growing = {place: rate for place, rate in rows if rate}
        name = f"{first['file']}:{first['line']} {first['function']}"
        assert abs(growing[name] / first["bytes_per_second"] - 1) < 0.01 and len(growing) <= 3, (growing, first)
        assert name.replace("_", "\\_") in report.stdout.decode(), report.stdout.decode()


def test_a_line_counts_once_for_all_its_processes():
    program = """
    import os, time
    kept = []
    os.fork(), os.fork()
    for i in range(250):
        kept.append(bytearray(100_000))  # the leak
        time.sleep(0.02)
    os._exit(0)
    """
    with tempfile.TemporaryDirectory() as folder:
        result = profile("--", sys.executable, script(folder, program))
        line = next(i for i, text in enumerate(program.split("\n"), 1) if "the leak" in text)
        first, *others = result.json["sites"]
        assert first["line"] == line and first["processes"] == 4, first
        assert 0.75 * 4 * 25e6 < first["bytes"] < 1.25 * 4 * 25e6, first
        assert not [site for site in others if site["line"] == line], others


def test_processes_that_stay_are_a_leak_of_the_line_that_starts_them():
    # Each copies the pages of what it reads, as DataLoader workers do, and allocates next to nothing.
    program = """
    import os, time
    items = [bytes([i % 250]) * 400 for i in range(20_000)]
    parent = os.getpid()
    def work():
        lengths = [len(item) for item in items]  # the leak
        while os.getppid() == parent:
            time.sleep(0.05)
        os._exit(0)
    for i in range(12):
        if os.fork() == 0:
            work()
        time.sleep(0.6)
    os._exit(0)
    """
    with tempfile.TemporaryDirectory() as folder:
        result = profile("--", sys.executable, script(folder, program))
        line = next(i for i, text in enumerate(program.split("\n"), 1) if "the leak" in text)
        assert result.json["answer"] == "leak" and "processes that stay" in result.json["answer_reason"], result.err.decode()
        first = result.json["sites"][0]
        assert first["line"] == line and first["verdict"] == "leak", result.json["sites"][:2]
        assert "make the workers once" in first["hint"] and first["bytes"] > 12 * 5e6, first


def test_what_the_allocator_keeps_is_no_leak():
    # Small blocks between which a few live on: freed, yet glibc cannot give the pages back.
    program = """
    import ctypes, os, time
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
    libc.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
    kept = []
    for i in range(200):
        blocks = [libc.malloc(3000) for _ in range(400)]
        for block in blocks:
            libc.memset(block, 1, 3000)
        if i < 20:
            kept.append(libc.malloc(3000))
        for block in blocks:
            libc.free(block)
        if i < 20:
            kept.extend(libc.malloc(40 + 16 * (i % 50)) for _ in range(30))
        time.sleep(0.03)
    os._exit(0)
    """
    with tempfile.TemporaryDirectory() as folder:
        result = profile("--", sys.executable, script(folder, program))
        assert result.json["answer"] != "leak", result.err.decode()


def test_a_program_that_spoils_its_file():
    program = """
    import glob, os, sys, time
    kept = [bytearray(200_000) for _ in range(100)]
    for path in glob.glob(os.environ["PLIMSOLL_HEAP"] + "/*.heap"):
        with open(path, "r+b") as file:
            file.seek(int(sys.argv[1]))
            file.write(os.urandom(100_000))
            if sys.argv[2] == "cut":
                file.truncate(5000)
    time.sleep(1)
    os._exit(0)
    """
    with tempfile.TemporaryDirectory() as folder:
        path = script(folder, program)
        for place, cut in [(0, "-"), (40, "-"), (4096 + (1 << 20), "-"), (4_000_000, "-")]:
            result = profile("--", sys.executable, path, place, cut)
            assert b"sites" in result.out, result.err.decode()  # it went on to the end
            result.json["sites"]


def test_static_program_is_said_to_be_out_of_reach():
    compiler = shutil.which("cc")
    if not compiler:
        return
    with tempfile.TemporaryDirectory() as folder:
        source = script(folder, '#include <unistd.h>\nint main(void) { sleep(1); return 0; }\n', "still.c")
        program = os.path.join(folder, "still")
        if subprocess.run([compiler, "-static", source, "-o", program], stderr=subprocess.DEVNULL).returncode:
            return
        result = profile("--", program)
        assert result.code == 0 and b"static" in result.err, result.err.decode()


def test_what_cannot_be_profiled_is_judged_by_its_memory():
    """Nothing is known of what it freed: that the allocator keeps it may not be said."""
    with tempfile.TemporaryDirectory() as folder:
        path = script(folder, LEAK)
        child = f"import subprocess, sys; kept = bytearray(10_000_000); subprocess.run(['env', '-u', 'LD_PRELOAD', sys.executable, {path!r}, 'exit', '{STEPS}'])"
        for command in (["env", "-u", "LD_PRELOAD", sys.executable, path, "exit", STEPS], [sys.executable, "-c", child]):
            result = profile("--fail-on-leak", "--", *command)
            found = result.json
            assert result.code == 10 and found["verdict"] == found["answer"] == "leak", (command, result.err.decode())
            assert found["memory"]["retained_bytes"] < 10e6, found["memory"]
            assert b"without a heap file" in result.err, result.err.decode()


def test_a_limit_on_the_size_of_files_does_not_end_the_program():
    """The kernel ends who writes beyond it by SIGXFSZ, and a heap file is larger than this."""
    with tempfile.TemporaryDirectory() as folder:
        path = script(folder, """
            import os, resource, sys, time
            resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
            child = os.fork()
            if child == 0:
                kept = []
                for _ in range(200):
                    kept.append(bytearray(100_000))
                    time.sleep(0.01)
                os.execv(sys.executable, [sys.executable, "-c", "kept = bytearray(5_000_000); raise SystemExit(7)"])
            _, status = os.waitpid(child, 0)
            sys.exit(os.waitstatus_to_exitcode(status))
        """)
        result = profile("--", sys.executable, path)
        assert result.code == 7, (result.code, result.err.decode())
        assert b"ulimit -f" in result.err, result.err.decode()


def test_a_program_that_restricts_its_system_calls_is_left_alone():
    """A filter that ends a process at the first file it opens: neither it nor its child makes a heap file any more."""
    with tempfile.TemporaryDirectory() as folder:
        path = script(folder, """
            import ctypes, os, struct, sys
            libc = ctypes.CDLL(None, use_errno=True)
            libc.prctl.argtypes = [ctypes.c_int] + 4 * [ctypes.c_ulong]
            load, equal, give = 0x20, 0x15, 0x06
            rules = b"".join(struct.pack("HBBI", *rule) for rule in [
                (load, 0, 0, 0), (equal, 0, 1, 257), (give, 0, 0, 0x80000000), (give, 0, 0, 0x7FFF0000)])
            filter = ctypes.create_string_buffer(rules, len(rules))
            program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", 4, ctypes.addressof(filter)), 16)
            assert libc.prctl(38, 1, 0, 0, 0) == 0                               # no new privileges
            if libc.prctl(22, 2, ctypes.addressof(program), 0, 0) != 0:          # the filter
                os._exit(77)
            child = os.fork()
            kept = [bytearray(100_000) for _ in range(300)]
            if child == 0:
                os._exit(0)
            _, status = os.waitpid(child, 0)
            os._exit(5 if status == 0 else 6)
        """)
        result = profile("--", sys.executable, path)
        if result.code == 77:
            return "no filters of system calls here"
        assert result.code == 5, (result.code, result.err.decode())
        assert b"restricted its own system calls" in result.err, result.err.decode()


def test_a_leak_that_slows_with_its_steps_is_no_cache():
    """Called early, and from then on the steps take ever longer: the same is lost at each of them."""
    with tempfile.TemporaryDirectory() as folder:
        path = script(folder, """
            import os, socket, time
            told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            told.connect(os.environ["PLIMSOLL_SOCKET"])
            kept = []
            def train_step(pause):
                kept.append(bytearray(200_000))  # the leak
                time.sleep(pause)
            for step in range(420):
                if step % 100 == 0:
                    told.send(b"epoch %d" % (step // 100))
                train_step(0.03 + 0.01 * max(0, step - 260) ** 0.5)
                told.send(b"step %d" % step)
        """)
        check_leak(profile("--", sys.executable, path), path, 7, 420 * 200_000)


def test_a_process_that_left_the_tree_is_not_accused():
    """What prepares the data grows until it ends, before the training: then it is given back."""
    with tempfile.TemporaryDirectory() as folder:
        path = script(folder, """
            import multiprocessing, time
            def prepare():
                kept = []
                for _ in range(200):
                    kept.append(bytearray(100_000))
                    time.sleep(0.03)
            first = multiprocessing.get_context("fork").Process(target=prepare)
            first.start()
            first.join()
            for _ in range(400):
                batches = [bytearray(50_000) for _ in range(20)]
                time.sleep(0.03)
        """)
        result = profile("--fail-on-leak", "--", sys.executable, path)
        assert result.code == 0 and result.json["answer"] != "leak", result.err.decode()
        assert not any(site["verdict"] == "leak" for site in result.json["sites"]), result.json["sites"]
        assert result.json["memory"]["pss_bytes"] < 25_000_000, result.json["memory"]


def test_processes_a_wrapper_started_are_not_the_leak():
    """A version manager's wrapper forks a shell for each thing it looks up, and becomes the program."""
    with tempfile.TemporaryDirectory() as folder:
        path = script(folder, LEAK)
        wrapper = script(folder, """
            for i in 1 2 3 4 5 6; do
                x=$(y=$(seq 1 20000); z="$y$y"; sleep 0.35; echo ${#z})
            done
            exec "$@"
        """, "wrapper.sh")
        result = profile("--", "bash", wrapper, sys.executable, path, "exit", STEPS)
        check_leak(result, path, LEAKING_LINE, 200_000 * STEPS)


def test_memory_that_is_not_from_malloc_is_not_said_to_be_freed():
    """A runtime with a heap of its own reserves memory and makes it usable as it grows: who knows what of it is free?"""
    with tempfile.TemporaryDirectory() as folder:
        path = script(folder, """
            import ctypes, time
            libc = ctypes.CDLL(None)
            libc.mmap.restype = ctypes.c_void_p
            libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
            libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
            heap = libc.mmap(None, 1 << 30, 0, 0x22, -1, 0)
            for page in range(0, 300 * 204_800, 204_800):
                libc.mprotect(heap + page, 204_800, 3)
                ctypes.memset(heap + page, 1, 204_800)
                scratch = [bytearray(50_000) for _ in range(20)]
                time.sleep(0.03)
        """)
        result = profile("--fail-on-leak", "--", sys.executable, path)
        assert result.code == 10 and result.json["answer"] == "leak", result.err.decode()
        assert result.json["memory"]["retained_bytes"] < 20e6, result.json["memory"]
        assert b"not from malloc" in result.err, result.err.decode()


def test_a_heap_file_that_cannot_be_written_is_said():
    """A folder without room: the program runs on, its memory is judged, and the disk is named."""
    with tempfile.TemporaryDirectory() as folder:
        path = script(folder, LEAK)
        small = os.path.join(folder, "small")
        os.mkdir(small)
        mount = f"mount -t tmpfs -o size=4m none {small} && TMPDIR={small} exec \"$@\""
        inside = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh"]
        if not shutil.which("unshare") or subprocess.run([*inside, "true"], stderr=subprocess.DEVNULL).returncode:
            return "no name space of one's own here"
        done = subprocess.run([*inside, PLIMSOLL, "profile", "--quiet", "--json", "--fail-on-leak", "--interval", "100ms", "--",
                               sys.executable, path, "exit", str(STEPS)], capture_output=True)
        result = Result(done.returncode, done.stdout, done.stderr)
        assert result.code == 10 and result.json["answer"] == "leak", result.err.decode()
        assert b"No space left on device" in result.err and b"static" not in result.err, result.err.decode()


run_all(dict(globals()))
