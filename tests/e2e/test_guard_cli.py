#!/usr/bin/env python3
"""`plimsoll guard` from the command line: exit codes, the JSON, a dry run, --pid, the hook, a listener, and what it refuses."""
import atexit
import shutil
import tempfile
import textwrap

from guarding import SPECIMENS, state
from harness import PROGRAM, SANITIZED, Path, environment, json, os, signal, subprocess, sys, time

BASE = Path(tempfile.mkdtemp(prefix="plimsoll-guard-"))
atexit.register(shutil.rmtree, BASE, True)
PYTHON = os.path.realpath(sys.executable)
KEYS = ["level", "actions", "peak_tree_bytes", "limit_bytes", "stopped"]


def guard(*arguments, code=0, timeout=60, **options):
    done = subprocess.run([PROGRAM, "guard", *map(str, arguments)], capture_output=True, text=True, timeout=timeout,
                          env=environment(), **options)
    assert done.returncode == code, f"guard {arguments}: expected {code}, got {done.returncode}\n{done.stderr}"
    return done


def report(done):
    found = json.loads(done.stdout.splitlines()[-1])
    assert [key for key in found if key in KEYS] == KEYS, found
    return found


def actions(found):
    return [action["action"] for action in found["actions"]]


def test_own_exit_code_and_quiet_end():
    assert guard("--", "sh", "-c", "echo hello; exit 7", code=7).stdout == "hello\n"
    found = report(guard("--json", "--", "sleep", "0.3"))
    assert found["level"] == "ok" and not found["stopped"] and found["actions"] == [], found
    # The line that was asked for, though the machine's may be nearer.
    assert report(guard("--json", "--limit", "900GB", "--", "true"))["limit_bytes"] == 900_000_000_000


def test_a_line_of_ones_own_stops_the_one_that_grows():
    run = BASE / "run.db"
    done = guard("--json", "--limit", "100MB", "--grace", "2s", "--out", run, "--", SPECIMENS / "bomb", BASE / "t1", "600", code=11)
    found = report(done)
    assert found["stopped"] and found["level"] == "stop" and found["limit_bytes"] == 100_000_000, found
    assert "SIGTERM" in actions(found) and "ended after" in found["actions"][-1]["effect"], found
    assert run.exists() and (found["guard"]["peak_bytes"] < 17_000_000 or SANITIZED)


def test_a_reader_that_goes_away_does_not_end_the_guard():
    piped = BASE / "piped"
    hog = "import time\nkept = []\nwhile True:\n    kept.append(bytearray(5_000_000))\n    time.sleep(0.05)"
    guarding = subprocess.Popen([PROGRAM, "guard", "--limit", "100MB", "--grace", "1s", "--hook", f"(yes; echo $? >{piped}) | head -n 1", "--",
                                 PYTHON, "-c", hog], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment())
    guarding.stdout.close()
    try:
        assert guarding.wait(timeout=60) == 11
    finally:
        guarding.kill()
    # What is started has its own way with a closed pipe.
    assert piped.read_text() == "141\n", piped.read_text()
    done = guard("--", "sh", "-c", "(yes; echo $? >&2) | head -n 1")
    assert done.stdout == "y\n" and "141" in done.stderr, done.stderr


def test_dry_run_does_nothing():
    found = report(guard("--json", "--dry-run", "--limit", "50MB", "--pause-alone", "200ms", "--", "sh", "-c",
                         f"timeout 2 {SPECIMENS}/bomb {BASE}/t2 100", code=124))
    assert not found["stopped"], found
    assert actions(found) and all(action.startswith(("would", "warning")) for action in actions(found)), found
    assert "would SIGTERM" in actions(found), found


def test_attached_by_pid():
    bomb = subprocess.Popen([str(SPECIMENS / "bomb"), str(BASE / "t3"), "300"])
    try:
        found = report(guard("--json", "--limit", "100MB", "--grace", "2s", "--pid", bomb.pid, code=11))
        assert found["stopped"] and found["actions"][-1]["pid"] == bomb.pid, found
        assert bomb.wait(10) == -signal.SIGTERM
    finally:
        bomb.kill()


def test_a_hook_and_a_listener():
    listener = textwrap.dedent("""
        import os, socket, time
        s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        s.bind("")
        s.connect(os.environ["PLIMSOLL_SOCKET"])
        s.send(b"listen")
        s.settimeout(10)
        keep = []
        for _ in range(9):
            keep.append(bytearray(os.urandom(1)) * 10_000_000)
            time.sleep(0.1)
        while b'"guard":"shrink"' not in s.recv(1024):
            pass
        del keep
        s.send(b"shrunk 90000000")
        time.sleep(0.5)
    """)
    done = guard("--json", "--limit", "120MB", "--hook", f'echo "$PLIMSOLL_GUARD_LEVEL" >> {BASE}/hook', "--", PYTHON, "-c", listener)
    found = report(done)
    asked = [action for action in found["actions"] if action["action"] == "asked to shrink"]
    assert asked and "90.0 MB released" in asked[0]["effect"], found
    assert not found["stopped"] and "SIGSTOP" not in actions(found), found
    assert "shrink" in (BASE / "hook").read_text().split()


def test_other_users_processes():
    if os.geteuid() != 0:
        return "skipped: needs root to become somebody else"
    victim = subprocess.Popen([str(SPECIMENS / "quiet_neighbour"), "60"])
    try:
        becoming = {"user": 65534, "group": 65534, "extra_groups": []}
        program = Path("/tmp") / f"plimsoll-{os.getpid()}"  # a place everybody may enter
        program.write_bytes(Path(PROGRAM).read_bytes())
        program.chmod(0o755)
        process = subprocess.Popen([program, "guard", "--json", "--limit", "50MB", "--pause-bound", "200ms", "--pid", str(victim.pid)],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(), cwd="/", **becoming)
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        assert process.returncode == 0, err
        assert "belongs to another user" in err and "run as that user or as root" in err, err
        assert state(victim.pid) == "S" and not json.loads(out)["stopped"]
    finally:
        victim.kill()
        victim.wait()
        program.unlink()


def test_refusals():
    bad = BASE / "bad.toml"
    for text, words in (("max_memory = \n", "line 1"), ("paws_bound = 3\n", "did you mean 'pause_bound'"), ("pause_bound = true\n", "line 1"),
                        ("memory_threshold_percentage = 180\n", "from 1 to 100"), ('pause_threshold = "97%"\n', "above stop_threshold")):
        bad.write_text(text)
        said = guard("--policy", bad, "--", "true", code=2).stderr
        assert words in said and said.count("\n") == 1, said
    for arguments, words in ((["--policy", BASE / "none.toml", "--", "true"], "none.toml"), ([], "exactly one of"),
                             (["--pid", "1", "--", "true"], "exactly one of"), (["--pid", "4194304"], "no process"),
                             (["--limit", "lots", "--", "true"], "not a size"), (["--limit", "1GB", "--max-memory", "2GB", "--", "true"], "same line"),
                             (["--grace", "soon", "--", "true"], "not a duration"), (["--", "/no/such/program"], "cannot be run")):
        said = guard(*arguments, code=2).stderr
        assert words in said and said.count("\n") == 1, said


for name, test in list(globals().items()):
    if name.startswith("test_"):
        print("ok", name, test() or "", flush=True)
