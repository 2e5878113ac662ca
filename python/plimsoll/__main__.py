"""`python -m plimsoll …` is the `plimsoll` program."""

from __future__ import annotations

import os
import sys

from . import _program


def main() -> int:
    """Replaces this process by the program; returns only where there is none."""
    program = _program.find()
    if program is None:
        print(f"plimsoll: {_program.MISSING}", file=sys.stderr)
        return 2
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
