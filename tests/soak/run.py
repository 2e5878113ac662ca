"""Runs the long versions of the end-to-end tests one after another: 10,000 iterations, 50 kills, all of nano.

python3 tests/soak/run.py build/plimsoll [name …]
"""

import subprocess
import sys
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1] / "e2e"
RECORD = Path(__file__).resolve().parent / "record_real.py"  # hours, so only when it is named
LONG = ("small", "nano", "resume", "kills", "damage", "guard_bomb", "guard_stops", "report_browser")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program, names = Path(sys.argv[1]).resolve(), sys.argv[2:] or LONG
    failed = []
    for name in names:
        began = time.monotonic()
        script = RECORD if name == "record-real" else TESTS / f"test_{name}.py"
        code = subprocess.run([sys.executable, script, program, "--long"]).returncode
        word = {0: "passed", 77: "skipped"}.get(code, f"FAILED with code {code}")
        print(f"{name}: {word} after {time.monotonic() - began:.0f} s", flush=True)
        if code not in (0, 77):
            failed.append(name)
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
