#!/usr/bin/env python3
"""The Python package under ruff (rules and format) and mypy --strict, as pyproject.toml sets them."""
import subprocess
import sys

from python_tools import ROOT, python_with

CHECKS = (
    ("ruff", "check", "python"),
    ("ruff", "format", "--check", "python"),
    ("mypy", "--strict", "--cache-dir", "/dev/null"),
)


def main():
    missing, failed = [], 0
    for tool, *arguments in CHECKS:
        python = python_with(tool)
        if python is None:
            missing.append(tool)
            continue
        done = subprocess.run([python, "-m", tool, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=600)
        failed += done.returncode != 0
        print(f"{tool} {' '.join(arguments)}: {'right' if done.returncode == 0 else done.stdout + done.stderr}")
    if missing:
        print(f"skipped: there is no {' and no '.join(sorted(set(missing)))}")
    return 1 if failed else 77 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
