#!/usr/bin/env bash
# Gets ruff, mypy and pytest, with which the Python package is checked, into build/python-tools; nothing where this Python
# has them all. Without PyPI the checks are skipped and say so.
set -uo pipefail
python=${PYTHON:-python3} tools=build/python-tools
command -v "$python" >/dev/null || exit 0
"$python" -c 'import mypy, pytest, ruff' 2>/dev/null && exit 0
"$tools/bin/python" -c 'import mypy, pytest, ruff' 2>/dev/null && exit 0
if ! { "$python" -m venv --system-site-packages "$tools" &&
       timeout 300 "$tools/bin/python" -m pip install -q --retries 1 --disable-pip-version-check ruff mypy pytest; } >/dev/null 2>&1; then
  echo "python-tools: ruff, mypy and pytest cannot be had from PyPI; the checks that need them are skipped" >&2
fi
exit 0
