"""Builds everything with each of GCC and Clang that is installed, warnings as errors, every file by itself: `make test`
compiles with one compiler and the files of a room together, where one file may lack what another includes.

python3 tests/soak/compilers.py build/plimsoll
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]


def build(compiler, folder):
    c, cpp = compiler
    subprocess.run(["cmake", "-G", "Ninja" if shutil.which("ninja") else "Unix Makefiles", "-S", SOURCE, "-B", folder, "-DCMAKE_BUILD_TYPE=Debug",
                    f"-DCMAKE_C_COMPILER={c}", f"-DCMAKE_CXX_COMPILER={cpp}", "-DPLIMSOLL_BY_ROOM=OFF"], check=True, stdout=subprocess.DEVNULL)
    return subprocess.run(["cmake", "--build", folder, "-j", str(os.cpu_count()), "--", "-k"] + (["0"] if shutil.which("ninja") else []),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def main():
    failed = []
    for compiler in (("gcc", "g++"), ("clang", "clang++")):
        if not shutil.which(compiler[1]):
            print(f"{compiler[1]} is not installed: skipped")
            continue
        with tempfile.TemporaryDirectory() as folder:
            built = build(compiler, folder)
        print("".join(f"{line}\n" for line in built.stdout.splitlines() if "error:" in line), end="")
        print(f"{compiler[1]}: {'builds everything' if built.returncode == 0 else 'FAILED'}", flush=True)
        if built.returncode:
            failed.append(compiler[1])
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
