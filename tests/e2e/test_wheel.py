#!/usr/bin/env python3
"""The wheel in dist/, where `make wheel` has left one: what it holds, what it needs, and that both commands and a script
work from it in an empty environment of every Python there is."""
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14")
PROGRAM, PRELOAD = "plimsoll/bin/plimsoll", "plimsoll/lib/plimsoll/libplimsoll_heap.so"
OF_GLIBC = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}

SCRIPT = """
import plimsoll, time
assert plimsoll.watch(interval="50ms")
kept = []
for step in plimsoll.steps(range(40)):
    kept.append(bytearray(500_000))
    time.sleep(0.02)
seen = plimsoll.verdict()
assert seen is not None and seen.json["memory_bytes"] > 20e6, seen
assert plimsoll.stop() is not None
"""


def pythons():
    """Interpreters by version: those of PATH and those pyenv has."""
    found = {}
    for version in VERSIONS:
        places = [shutil.which(f"python{version}", path="/usr/local/bin:/usr/bin")]
        places += sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"), reverse=True)
        for place in filter(None, places):
            if subprocess.run([place, "-c", "import venv, ensurepip"], capture_output=True).returncode == 0:
                found[version] = str(place)
                break
    return found


def check_contents(wheel, folder):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        archive.extractall(folder)
    here = {f"plimsoll/{path.name}" for path in (ROOT / "python" / "plimsoll").glob("*.py")}
    assert here | {PROGRAM, PRELOAD, "plimsoll/py.typed"} <= names, sorted(here - names)
    for name in (PROGRAM, PRELOAD):
        data = (folder / name).read_bytes()
        assert str(ROOT).encode() not in data, f"{name} names the folder it was built in"
        needed = subprocess.run(["readelf", "-d", folder / name], capture_output=True, text=True, check=True).stdout
        libraries = set(re.findall(r"NEEDED.*\[(.*)\]", needed))
        assert libraries <= OF_GLIBC, f"{name} needs {sorted(libraries - OF_GLIBC)}"
        assert "RUNPATH" not in needed and "RPATH" not in needed, needed


def check_install(wheel, python, folder):
    """Nothing of this checkout or its environment is visible inside."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "TMPDIR": str(folder)}

    def run(*command):
        done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    run(python, "-m", "venv", folder / "env")
    inside = folder / "env" / "bin"
    run(inside / "pip", "install", "-q", "--no-index", "--disable-pip-version-check", wheel)
    versions = {run(inside / "plimsoll", "--version"), run(inside / "python", "-m", "plimsoll", "--version")}
    assert len(versions) == 1 and versions.pop().startswith("plimsoll "), versions
    run(inside / "python", "-c", SCRIPT)
    out = run(inside / "plimsoll", "profile", "--quiet", "--json", "--interval", "50ms", "--", inside / "python", "-c",
              "import time\nkept = [bytearray(3_000_000) for _ in range(10)]\ntime.sleep(0.5)")
    assert '"sites"' in out, out


def main():
    wheels = sorted((ROOT / "dist").glob("plimsoll-*.whl"))
    if not wheels:
        print("skipped: there is no wheel in dist/; `make wheel` makes one")
        return 77
    found = pythons()
    if not found or not shutil.which("readelf"):
        print("skipped: there is no Python 3.9 or newer with venv, or no readelf")
        return 77
    for wheel in wheels:
        with tempfile.TemporaryDirectory(prefix="plimsoll-wheel-") as folder:
            check_contents(wheel, Path(folder))
        for version, python in found.items():
            with tempfile.TemporaryDirectory(prefix="plimsoll-wheel-") as folder:
                check_install(wheel, python, Path(folder))
    print(f"{wheels[0].name}: works in Python {', '.join(found)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
