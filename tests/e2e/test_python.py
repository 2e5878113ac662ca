#!/usr/bin/env python3
"""The Python package: its own tests under pytest, and a script that leaks and is told so by the real program."""
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

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


def main():
    program = str(Path(sys.argv[1]).resolve())
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "PLIMSOLL_PROGRAM": program}
    if sys.version_info < (3, 9):
        print("skipped: the package needs Python 3.9")
        return 77
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    if subprocess.run([sys.executable, "-c", "import pytest"], capture_output=True).returncode:
        print("a watched script: right; the package's own tests are skipped: there is no pytest")
        return 0
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(ROOT / "python" / "tests")]
    tests = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=900)
    print(tests.stdout[-2000:])
    return tests.returncode


if __name__ == "__main__":
    sys.exit(main())
