"""If PyTorch is installed, computes the stored oracle again and compares it with the stored results."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[1] / "oracle" / "make_oracle.py"
SKIPPED = 77


def python_with_torch():
    for python in filter(None, (os.environ.get("PLIMSOLL_PYTHON"), "python3")):
        try:
            if subprocess.run([python, "-c", "import torch"], capture_output=True).returncode == 0:
                return python
        except OSError as error:
            print(f"{python}: {error}")
    return None


def main():
    python = python_with_torch()
    if not python:
        print("skipped: neither python3 nor $PLIMSOLL_PYTHON can import torch, so the oracle cannot be computed again")
        return SKIPPED
    done = subprocess.run([python, str(SCRIPT), "--check"], capture_output=True, text=True)
    print(done.stdout, done.stderr, sep="")
    return 1 if done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
