"""Finds the `plimsoll` program: the one named by PLIMSOLL_PROGRAM, the one beside the package, or the one on PATH."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Optional

_said: set[str] = set()

MISSING = (
    "the `plimsoll` program was not found; install the wheel that `make wheel` builds, or `make build` in a source checkout "
    "and set PLIMSOLL_PROGRAM to its path"
)


def find() -> Optional[str]:
    """The path of the program, or None where there is none."""
    named = os.environ.get("PLIMSOLL_PROGRAM")
    if named:
        return named if os.access(named, os.X_OK) else None
    packaged = Path(__file__).parent / "bin" / "plimsoll"
    if os.access(packaged, os.X_OK):
        return str(packaged)
    return shutil.which("plimsoll")


def say_once(text: str) -> None:
    """Prints one line on standard error, the first time it is said in this process."""
    if text not in _said:
        _said.add(text)
        print(f"plimsoll: {text}", file=sys.stderr)
