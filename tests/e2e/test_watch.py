"""`plimsoll watch` from outside: exit codes, forwarding of output and signals, steps and phases, what it prints and records."""
import sqlite3

from watching import *


def test_exit_code_is_the_programs_own():
    assert watch("--quiet", "--", "sh", "-c", "exit 3").code == 3
    assert watch("--quiet", "--", "sh", "-c", "kill -9 $$").code == 137
    assert watch("--quiet", "--", "true").code == 0


def test_wrong_usage():
    for arguments in ([], ["--pid", "1", "--", "true"], ["--pid", "999999999"], ["--pid", "-4"], ["--", "/no/such/program"],
                      ["--interval", "soon", "--", "true"], ["--for", "0", "--", "true"], ["--step-regex", "([", "--", "true"],
                      ["--step-regex", "step", "--", "true"], ["--limit", "0", "--", "true"], ["--all", "--", "true"], ["--rate", "1MB", "--", "true"],
                      ["--", "/tmp"], ["--", os.path.abspath(__file__)],
                      ["--limit", "lots", "--", "true"], ["--until", "never", "--", "true"], ["--out", "/no/such/folder/run.db", "--", "true"]):
        result = watch(*arguments)
        assert result.code == 2, (arguments, result.code)
        assert result.err.count(b"\n") == 1, result.err
    assert b"is a folder" in watch("--", "/tmp").err
    with tempfile.TemporaryDirectory() as folder:
        program, link = os.path.join(folder, "train.sh"), os.path.join(folder, "run.db")
        with open(program, "w") as file:
            file.write("#!/bin/sh\n")
        assert b"chmod +x" in watch("--", program).err
        os.symlink("nowhere", link)
        assert b"leads nowhere" in watch("--out", link, "--", "true").err
        with open(os.path.join(folder, "nowhere"), "w"):
            pass
        result = watch("--out", link, "--", "true")
        assert result.code == 2 and b"exists already" in result.err and b"resume" not in result.err, result.err


def test_output_that_is_lost_is_a_failure():
    for words in (["version"], ["--help"], ["watch", "--json", "--quiet", "--", "true"], ["guard", "--json", "--", "true"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run([PLIMSOLL, *words], stdout=full, stderr=subprocess.PIPE)
        assert done.returncode == 1 and done.stderr.endswith(b"plimsoll: cannot write to standard output: No space left on device\n"), (words, done)


def test_a_record_that_cannot_be_begun_leaves_nothing():
    with tempfile.TemporaryDirectory() as folder:
        mount = f"mount -t tmpfs -o size=16k none {folder} && \"$@\"; code=$?; ls {folder} >&2; exit $code"
        inside = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh"]
        if subprocess.run([*inside, "true"], stderr=subprocess.DEVNULL).returncode:
            return "no name space of one's own here"
        done = subprocess.run([*inside, PLIMSOLL, "watch", "--out", f"{folder}/run.db", "--", "true"], stderr=subprocess.PIPE)
        assert done.returncode in (1, 2) and done.stderr.count(b"\n") == 1, done.stderr


def test_output_is_untouched():
    code = """
        import os, random, sys
        random.seed(3)
        for i in range(200):
            os.write(1, random.randbytes(random.randrange(9000)))
            os.write(2, b"e%d\\r" % i)
    """
    plain = subprocess.run(python(code), capture_output=True)
    result = watch("--quiet", "--", *python(code))
    assert result.out == plain.stdout
    assert result.err.startswith(plain.stderr)


def test_json_has_the_documented_keys():
    result = watch("--json", "--quiet", "--interval", "50ms", "--", "sh", "-c", "printf 'no newline at the end'; sleep 0.5")
    assert result.out.startswith(b"no newline at the end\n{")
    assert documented(result.json), list(result.json)
    assert list(result.json["spikes"]) == ["count", "typical_bytes", "phase"]
    assert result.json["limit_bytes"] > 0
    assert watch("--json", "--all", "--quiet", "--interval", "50ms", "--", "sleep", "0.5").json["processes"][0]["name"] == "sleep"


def test_a_run_too_short_to_judge_is_not_asked_to_go_on_for_no_time():
    told = watch("--", "true").err.decode()
    assert "next: watch a longer run" in told and "0.0s more" not in told, told


def test_pages_of_files_are_recorded_beside_what_the_program_owns():
    """A mapped file that was read belongs to the file band, not to the program's own memory."""
    with tempfile.TemporaryDirectory() as folder:
        data, record = os.path.join(folder, "data"), os.path.join(folder, "run.db")
        with open(data, "wb") as file:
            file.write(b"x" * 40_000_000)
        watch("--quiet", "--interval", "50ms", "--out", record, "--", *python(f"""
            import mmap, time
            with open({data!r}, "rb") as file:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            time.sleep(0.5)
            assert sum(mapped[::4096]) > 0
            time.sleep(1)
        """))
        shown = json.loads(subprocess.run([PLIMSOLL, "report", record, "--format", "json"], capture_output=True, check=True).stdout)
    rows = [dict(zip(shown["memory"]["columns"], row)) for row in shown["memory"]["rows"]]
    assert max(row["file"] for row in rows) - min(row["file"] for row in rows) > 38_000_000, rows
    assert max(row["bytes"] for row in rows) < 38_000_000, rows


def available_bytes():
    with open("/proc/meminfo", encoding="utf-8") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable"))


def test_without_a_limit_the_line_is_what_can_be_reached():
    before = available_bytes()
    result = watch("--json", "--quiet", "--interval", "50ms", "--", "sleep", "0.5")
    # Not the whole of the machine; neighbours may take and free memory meanwhile.
    assert 0 < result.json["limit_bytes"] < max(before, available_bytes()) + 300_000_000, result.json


def test_the_line_is_that_of_the_last_sample_with_memory():
    with tempfile.TemporaryDirectory() as folder:
        record = os.path.join(folder, "run.db")
        hold = "import time; kept = bytearray(b'x' * 300_000_000); time.sleep(1)"
        found = watch("--json", "--quiet", "--interval", "50ms", "--out", record, "--", sys.executable, "-c", hold).json
        rows = [row for row, in sqlite3.connect(record).execute("SELECT limit_bytes FROM memory ORDER BY rowid")]
        assert found["limit_bytes"] == rows[-1], (found["limit_bytes"], rows[-5:])


LEAK = """
    import os, socket, time
    kept = []
    to = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    for i in range(400):
        kept.append(bytearray(os.urandom(1000)) * 200)
        if {tell}: to.sendto(b"step %d" % i, os.environ["PLIMSOLL_SOCKET"])
        if {say}: print("it=%d" % i)
        time.sleep(0.02)
"""


def test_a_leak_is_found_named_and_fails_where_asked():
    folder = tempfile.mkdtemp()
    record = os.path.join(folder, "run.db")
    result = watch("--json", "--quiet", "--fail-on-leak", "--interval", "50ms", "--limit", "2GB", "--out", record, "--",
                   *python(LEAK.format(tell=True, say=False)))
    found = result.json
    assert found["verdict"] == "leak", found
    assert result.code == 10
    assert found["culprit"]["role"] == "main" and found["culprit"]["share"] > 0.9
    assert 120_000 < found["rate_bytes_per_step"] < 280_000, found  # 200,000 kept a step
    assert found["limit_bytes"] == 2_000_000_000 and 0 < found["seconds_to_limit"] < 2000
    base = sqlite3.connect(record)
    assert base.execute("SELECT count(*) FROM steps").fetchone()[0] == 400
    assert base.execute("SELECT count(*) FROM memory").fetchone()[0] > 40
    assert json.loads(base.execute("SELECT json FROM verdicts ORDER BY id DESC").fetchone()[0]) == found
    assert base.execute("SELECT role FROM processes WHERE role <> ''").fetchall() == [("main",)]
    # The record says the same when it is judged later.
    later = subprocess.run([PLIMSOLL, "verdict", record, "--json", "--all", "--fail-on-leak"], capture_output=True)
    again = json.loads(later.stdout)
    assert later.returncode == 10 and again["verdict"] == "leak" and documented(again), again
    assert again["culprit"]["pid"] == found["culprit"]["pid"] and again["culprit"]["share"] > 0.9
    assert abs(again["rate_bytes_per_step"] / found["rate_bytes_per_step"] - 1) < 0.05
    assert again["limit_bytes"] == 2_000_000_000 and [p["verdict"] for p in again["processes"]] == ["leak"]
    # Without being asked to, a leak is not a failure.
    assert watch("--quiet", "--interval", "50ms", "--for", "3s", "--", *python(LEAK.format(tell=False, say=False))).code == 0


def test_steps_by_own_expression_and_phases():
    code = LEAK.format(tell=False, say=True)
    found = watch("--json", "--quiet", "--interval", "50ms", "--for", "5s", "--step-regex", "it=([0-9]+)", "--", *python(code)).json
    assert found["rate_bytes_per_step"] is not None, found
    folder = tempfile.mkdtemp()
    record = os.path.join(folder, "run.db")
    # The one line of documentation, as a shell would run it.
    line = """python3 -c 'import os,socket,sys; socket.socket(1,2).sendto(sys.argv[1].encode(), os.environ["PLIMSOLL_SOCKET"])'"""
    watch("--quiet", "--interval", "50ms", "--out", record, "--", "sh", "-c", f"{line} 'phase validate'; sleep 0.3; {line} 'step 7'; sleep 0.2")
    base = sqlite3.connect(record)
    assert base.execute("SELECT name FROM phases JOIN phase_names n ON n.id = phases.phase").fetchall() == [("validate",)]
    assert base.execute("SELECT step FROM steps").fetchall() == [(7,)]


def test_no_steps_inherits():
    result = watch("--quiet", "--no-steps", "--", "sh", "-c", "echo ${PLIMSOLL_SOCKET-none}")
    assert result.out == b"none\n"


def test_duration_ends_the_program_but_not_a_foreign_one():
    result = watch("--json", "--quiet", "--interval", "50ms", "--for", "1s", "--", "sleep", "60")
    assert result.code == 0 and result.json["samples"] >= 2
    foreign = subprocess.Popen(["sleep", "60"])
    assert watch("--quiet", "--interval", "50ms", "--for", "500ms", "--pid", foreign.pid).code == 0
    assert foreign.poll() is None
    foreign.kill(), foreign.wait()


def test_interrupt_ends_watching_and_still_judges():
    process = start("--json", "--quiet", "--interval", "50ms", "--", "sleep", "60")
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    result = finish(process)
    assert result.code == 130, result.code
    assert documented(result.json)
    foreign = subprocess.Popen(["sleep", "60"])
    process = start("--json", "--interval", "50ms", "--pid", foreign.pid)
    time.sleep(0.7)
    process.send_signal(signal.SIGINT)
    result = finish(process)
    assert result.code == 0 and result.json["samples"] >= 1
    assert foreign.poll() is None
    foreign.kill(), foreign.wait()


def test_signals_are_passed_on():
    code = """
        import signal, sys, time
        signal.signal(signal.SIGUSR1, lambda *a: print("usr1"))
        signal.signal(signal.SIGTERM, lambda *a: (print("saved"), sys.exit(7)))
        print("ready")
        while True: time.sleep(0.05)
    """
    process = start("--quiet", "--", *python(code))
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGUSR1)
    assert process.stdout.readline() == b"usr1\n"
    process.send_signal(signal.SIGTERM)
    result = finish(process)
    assert result.out == b"saved\n" and result.code == 7


def test_a_reader_that_goes_away_is_passed_on_too():
    process = start("--quiet", "--", "yes")
    process.stdout.read(1000)
    process.stdout.close()
    process.stderr.close()
    assert process.wait(timeout=30) == 141  # 128 + SIGPIPE


def test_find_training():
    folder = tempfile.mkdtemp()
    library = os.path.join(folder, "libtorch_cpu.so")
    with open(library, "wb") as file:
        file.write(b"\0" * 100_000)
    code = f"""
        import mmap, os, subprocess, sys, time
        file = open({library!r}, "rb")
        mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        data = bytearray(b"x") * 150_000_000
        if "worker" in sys.argv: time.sleep(60)
        workers = [subprocess.Popen([sys.executable, "-c", sys.orig_argv[3], "worker"]) for _ in range(2)]
        print("ready")
        while True: sum(range(10000)); time.sleep(0.001)
    """
    # In a process namespace of its own no other training on the machine can be better.
    alone = ["unshare", "-pf", "--mount-proc"] if os.getuid() == 0 else []
    script = f"""
        {PYTHON} -u -c "$CODE" --hf-token hunter2 > {folder}/out & training=$!
        until grep -q ready {folder}/out; do sleep 0.05; done; sleep 0.3
        {PLIMSOLL} watch --find-training --for 500ms --interval 50ms --json; code=$?
        kill $training; echo "pid $training" >&2; exit $code
    """
    done = subprocess.run(alone + ["sh", "-c", script], capture_output=True, env=dict(os.environ, CODE=textwrap.dedent(code)))
    if b"unshare" in done.stderr:
        return "skipped: " + done.stderr.decode()
    text = done.stderr.decode()
    pid = text.rstrip().split()[-1]
    assert done.returncode == 0, text
    assert f"{'->' if alone else '  '} {pid:>7}" in text, text
    assert "libtorch_cpu.so" in text and "2 children" in text, text
    assert "hunter2" not in text


def test_left_behind_processes_are_watched_until_the_command_only_where_asked():
    folder = tempfile.mkdtemp()
    ended, began = os.path.join(folder, "ended"), os.path.join(folder, "began")
    result = watch("--interval", "50ms", "--", "sh", "-c", f"setsid sh -c 'sleep 2; touch {ended}' & exit 5")
    assert result.code == 5 and os.path.exists(ended), "it was not waited for"
    assert b"left behind" in result.err
    daemon = f"setsid sh -c 'echo $$ > {began}; exec sleep 600' & until [ -s {began} ]; do sleep 0.05; done; exit 5"
    assert watch("--interval", "50ms", "--until", "command", "--", "sh", "-c", daemon).code == 5
    os.kill(int(open(began, encoding="utf-8").read()), signal.SIGKILL)  # fails where it is gone: it was waited for


run_all(globals())
