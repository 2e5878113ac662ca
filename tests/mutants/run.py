#!/usr/bin/env python3
"""Breaks the source in one place at a time and says which tests notice.

usage: tests/mutants/run.py [NUMBER|WORD...]    all, or those of these numbers or with these words in their file

Each mutant of mutants.py is applied to a copy of the tree in build-mutants, the tests it names are built and run one after
the other until one notices, and the copy is made whole again. Those that survive are tried on every other room at the
end. A mutant that no test notices is a missing test. What was found is kept in build-mutants/found.json, so that a run
that was interrupted goes on; it is forgotten when a file of src/ or tests/ changes. Ends with code 1 if more than three
survive.
"""
import argparse
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from mutants import MUTANTS

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build-mutants"
TREE = WORK / "tree"
BUILD = TREE / "build"  # as the release preset has it, so that a compiler cache knows most files already
CMAKE = "/usr/bin/cmake" if Path("/usr/bin/cmake").exists() else "cmake"
FOUND = WORK / "found.json"
ROOMS = sorted({path.parent.name for path in (ROOT / "tests").glob("*/*_test.cpp")})
MOST_SURVIVORS = 3
SECONDS = 900  # a test that takes longer hangs, and is noticed
# The compiler is not asked: what a mutant no longer uses must not be an error.
UNUSED = "".join(f'#pragma GCC diagnostic ignored "-Wunused-{what}"\n' for what in
                 ("parameter", "variable", "but-set-variable", "but-set-parameter", "function"))


def copy_tree():
    """Writes only what changed, so that only that is compiled again."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    wanted = {name for name in names.decode().split("\0") if name and (ROOT / name).exists()}
    for path in [path for path in TREE.rglob("*") if path.is_file() and BUILD not in path.parents]:
        if str(path.relative_to(TREE)) not in wanted:
            path.unlink()
    for name in wanted:
        source, copy = ROOT / name, TREE / name
        if not copy.exists() or copy.read_bytes() != source.read_bytes():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy)


def state_of_tree():
    """A digest of everything a test can depend on, the mutants left out."""
    digest = hashlib.sha256()
    for folder in ("src", "include", "tests", "python", "cmake"):
        for path in sorted((TREE / folder).rglob("*")):
            if path.is_file() and path.parent.name != "mutants":
                digest.update(f"{path}\0".encode() + path.read_bytes())
    return digest.hexdigest()


class Found:
    """Which tests pass without a mutant, and what each said of a mutant, as long as the tree is the same."""

    def __init__(self):
        self.all = json.loads(FOUND.read_text()) if FOUND.exists() else {}
        if self.all.get("tree") != (tree := state_of_tree()):
            self.all = {"tree": tree, "passing": [], "tried": {}}

    def keep(self):
        FOUND.write_text(json.dumps(self.all, indent=1))

    def require_passing(self, test):
        if test in self.all["passing"]:
            return
        if refusal := build([test]):
            sys.exit(refusal)
        if not passes(test):
            sys.exit(f"{test} fails without a mutant: {complaint()}")
        self.all["passing"].append(test)
        self.keep()


def build(tests):
    """The output of the compiler where it refuses, else nothing."""
    targets = [f"{test}_test" for test in tests if "/" not in test]
    if any("/" in test for test in tests):
        targets += ["plimsoll", "fault_injector"]
    done = subprocess.run([CMAKE, "--build", BUILD, "--target", *targets], capture_output=True, text=True)
    return done.stdout[-2000:] if done.returncode else ""


def passes(test):
    """A room's tests by its name, an end-to-end test by its path below tests/ without its ending."""
    if "/" in test:
        path = next((TREE / "tests").glob(test + ".*"))
        command = ["python3" if path.suffix == ".py" else "bash", path, BUILD / "plimsoll"]
    else:
        command = [BUILD / "tests" / f"{test}_test", "--gtest_brief=1", "--gtest_fail_fast"]
    environment = os.environ | {"PLIMSOLL_BUILD": str(BUILD), "PLIMSOLL_SPECIMENS": str(BUILD / "specimens")}
    with (WORK / "output").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environment, start_new_session=True,
                                   cwd=WORK)
        try:
            return process.wait(SECONDS) in (0, 77)
        except subprocess.TimeoutExpired:
            return False
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def complaint():
    lines = (WORK / "output").read_text(errors="replace").splitlines()
    failed = [line for line in lines if line.startswith("[  FAILED  ]") and "." in line]
    return (failed or [line for line in lines if line.strip()] or ["nothing was said"])[-1].strip()[:110]


def apply(mutant):
    path = TREE / "src" / mutant.file
    whole = path.read_text()
    if whole.count(mutant.before) != 1:
        sys.exit(f"{mutant.file}: '{mutant.before}' occurs {whole.count(mutant.before)} times; expected once")
    path.write_text(UNUSED + whole.replace(mutant.before, mutant.after))
    return path, whole


def is_noticed(mutant, test):
    path, whole = apply(mutant)
    try:
        if refusal := build([test]):
            sys.exit(f"{mutant.file}: '{mutant.after}' does not compile:\n{refusal}")
        return not passes(test)
    finally:
        path.write_text(whole)


def notice(mutant, tests, found):
    """What the first of these tests says that notices, or nothing."""
    key = f"{mutant.file}: {mutant.before} -> {mutant.after}"
    tried = found.all["tried"].setdefault(key, {})
    for test in tests:
        if test not in tried:
            found.require_passing(test)
            tried[test] = complaint() if is_noticed(mutant, test) else None
            found.keep()
        if tried[test]:
            return f"{test}: {tried[test]}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", nargs="*")
    which = parser.parse_args().which
    chosen = [(number, mutant) for number, mutant in enumerate(MUTANTS, 1)
              if not which or str(number) in which or any(not w.isdigit() and w in mutant.file for w in which)]
    copy_tree()
    subprocess.run([CMAKE, "-S", TREE, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DPLIMSOLL_WERROR=ON",
                    "-DPLIMSOLL_BY_ROOM=OFF", "-DPLIMSOLL_TEST_FLAGS=-O0"], check=True, stdout=subprocess.DEVNULL)
    found = Found()
    survivors = []
    for number, mutant in chosen:
        began = time.monotonic()
        noticed = notice(mutant, mutant.tests, found)
        print(f"{number:2} {mutant.file}: {mutant.what}\n   {noticed or 'survived'} ({time.monotonic() - began:.0f} s)", flush=True)
        if not noticed:
            survivors.append((number, mutant))
    # Every other room costs much, and seldom notices what those named did not.
    for number, mutant in list(survivors):
        noticed = notice(mutant, [room for room in ROOMS if room not in mutant.tests], found)
        print(f"{number:2} {mutant.file}: {noticed or 'SURVIVED every room'}", flush=True)
        if noticed:
            survivors.remove((number, mutant))
    survivors = [number for number, _ in survivors]
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} mutants were noticed"
          + (f"; survivors: {', '.join(map(str, survivors))}" if survivors else ""))
    return 1 if len(survivors) > MOST_SURVIVORS else 0


if __name__ == "__main__":
    sys.exit(main())
