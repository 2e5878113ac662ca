#!/usr/bin/env python3
"""The Python package: its own tests under pytest, and a script that leaks and is told so by the real program."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import LONG, SANITIZED
from python_tools import ROOT, python_with

SCRIPT = """
import time, plimsoll
assert plimsoll.watch(interval="50ms")
kept = []
for step in plimsoll.steps(range(60)):
    kept.append(bytearray(500_000))
    time.sleep(0.05)
answer = plimsoll.verdict()
assert answer is not None and answer.json["memory_bytes"] > 20e6, answer
final = plimsoll.stop()
assert final.answer in ("leak", "undecided"), final
assert final.bytes_per_step is None or 0.8 < final.bytes_per_step / 500_000 < 1.2, final
"""

# Started again under `plimsoll profile`: with the library loaded, the same arguments, and what it wrote once.
SITES = """
import plimsoll
plimsoll.watch(sites=True, interval="50ms")
import os, sys
assert "libplimsoll_heap" in os.environ.get("LD_PRELOAD", ""), "not profiled"
assert sys.argv[1:] == ["a b", "--flag"], sys.argv
print("ran")
sys.exit(3)
"""

# Answers a question from outside at one of its steps.
ASKED = """
import time, plimsoll
assert plimsoll.watch(interval="50ms", report=False)
outputs = [bytearray(3_000_000)]
print("ready", flush=True)
for _ in plimsoll.steps(range(1000)):
    time.sleep(0.02)
"""


def check_sites(program, environment):
    with tempfile.TemporaryDirectory(prefix="plimsoll-sites-") as folder:
        script = os.path.join(folder, "script.py")
        Path(script).write_text(SITES)
        done = subprocess.run([sys.executable, script, "a b", "--flag"], env=environment, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (3, "ran\n"), (done.returncode, done.stdout, done.stderr)


def check_rank(environment):
    """The record of a rank has the name that `plimsoll report run-rank*.db` finds."""
    with tempfile.TemporaryDirectory(prefix="plimsoll-rank-") as folder:
        for size in ({"WORLD_SIZE": "2"}, {}):
            script = "import time, plimsoll\nassert plimsoll.watch(out='run.db', interval='50ms', report=False)\ntime.sleep(0.3)"
            subprocess.run([sys.executable, "-c", script], env={**environment, "RANK": "1", **size}, cwd=folder, check=True, timeout=120)
            assert [name for name in os.listdir(folder) if name.endswith(".db")] == ["run-rank1.db"], os.listdir(folder)
            os.remove(os.path.join(folder, "run-rank1.db"))


def check_census(program, environment):
    child = subprocess.Popen([sys.executable, "-c", ASKED], env=environment, stdout=subprocess.PIPE)
    try:
        assert child.stdout.readline() == b"ready\n"
        ask = [program, "profile", "--pid", str(child.pid), "--census", "--budget", "10s"]
        text = subprocess.run(ask, env=environment, capture_output=True, text=True, timeout=120, check=True).stdout
        assert "3 MB, held by list `outputs` of module __main__" in text, text
        fields = json.loads(subprocess.run([*ask, "--json"], env=environment, capture_output=True, timeout=120, check=True).stdout)
        assert fields["buffers"]["count"] >= 1 and fields["largest"][0]["bytes"] >= 3_000_000, fields
    finally:
        child.kill()
        child.wait()
    stranger = subprocess.run([program, "profile", "--pid", str(os.getpid()), "--census"], capture_output=True, text=True)
    assert stranger.returncode == 2 and "takes no questions" in stranger.stderr, stranger


def main():
    program = str(Path(sys.argv[1]).resolve())
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "PLIMSOLL_PROGRAM": program}
    if sys.version_info < (3, 9):
        print("skipped: the package needs Python 3.9")
        return 77
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    check_census(program, environment)
    check_rank(environment)
    if os.path.exists(os.path.join(os.path.dirname(program), "libplimsoll_heap.so")) and not SANITIZED:
        check_sites(program, environment)
    python = python_with("pytest")
    if python is None:
        print("a watched script: right; the package's own tests are skipped: there is no pytest")
        return 77
    command = [python, "-m", "pytest", "-rs", "-q", "-p", "no:cacheprovider", str(ROOT / "python" / "tests")]
    if not LONG:  # minutes for each framework
        command.append("--ignore=" + str(ROOT / "python" / "tests" / "test_frameworks.py"))
    tests = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=5400)
    print(tests.stdout[-2000:])
    return tests.returncode


if __name__ == "__main__":
    sys.exit(main())
