"""Finds a Python that has a tool: this one, or the one that scripts/python-tools.sh has made."""
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def python_with(module):
    """Its path, or None."""
    build = Path(os.environ.get("PLIMSOLL_BUILD", ROOT / "build"))
    for python in (sys.executable, build / "python-tools" / "bin" / "python"):
        if os.access(python, os.X_OK) and subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0:
            return str(python)
    return None
