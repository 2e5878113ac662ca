"""Runs the long versions of the end-to-end tests one after another: 10,000 iterations, 50 kills, all of nano.

python3 tests/soak/run.py build/plimsoll [name …]
"""

import os
import subprocess
import sys
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1] / "e2e"
LONG = ("small", "nano", "resume", "kills", "ranks", "rank_faults", "rank_machines", "finetune_rows", "pictures", "picture_runs", "damage", "guard_bomb",
        "guard_stops", "bombs", "faults", "powerloss", "oom", "attach", "report_browser", "flat", "python", "cost", "specimens", "shapes")
RECORD = Path(__file__).resolve().parent / "record_real.py"  # hours, so only when it is named
PROFILE = Path(__file__).resolve().parent / "profile_score.py"  # needs PyTorch and most of an hour, likewise
COMPILERS = Path(__file__).resolve().parent / "compilers.py"  # half an hour of compiling, likewise
MACHINE = Path(__file__).resolve().parent / "virtual_machine.py"  # needs qemu, likewise


def command(name, program):
    if name == "cost":  # of watching 300 processes, in processor time
        return [program.parent / "tests" / "observe_test", "--gtest_filter=Cost.*"]
    if name == "specimens":  # all of them
        return [sys.executable, TESTS / "test_specimens.py", program]
    if name == "record-real":
        return [sys.executable, RECORD, program, "--long"]
    if name == "profile-score":
        return [sys.executable, PROFILE, program, "--long"]
    if name == "compilers":
        return [sys.executable, COMPILERS, program]
    if name == "bombs-v2":
        return [sys.executable, MACHINE, program, "--long"]
    return [sys.executable, TESTS / f"test_{name}.py", program, "--long"]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program, names = Path(sys.argv[1]).resolve(), sys.argv[2:] or LONG
    failed = []
    for name in names:
        began = time.monotonic()
        code = subprocess.run(command(name, program), env={**os.environ, "PLIMSOLL_SOAK": "1"}).returncode
        word = {0: "passed", 77: "skipped"}.get(code, f"FAILED with code {code}")
        print(f"{name}: {word} after {time.monotonic() - began:.0f} s", flush=True)
        if code not in (0, 77):
            failed.append(name)
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
