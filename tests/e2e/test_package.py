"""Installs the build and uses it from there: the CMake package, pkg-config, every header alone, the examples of the headers and of
the README, the program, its manual pages and completions."""

import re
import sqlite3

from harness import *

BUILD = Path(os.environ["PLIMSOLL_BUILD"])
CMAKE = "/usr/bin/cmake" if os.path.exists("/usr/bin/cmake") else "cmake"
cache = (BUILD / "CMakeCache.txt").read_text()


def cached(name):
    found = re.search(rf"^{name}:[A-Z]*=(.*)$", cache, re.M)
    return found.group(1) if found else ""


def do(*arguments, **options):
    ended = subprocess.run([str(a) for a in arguments], capture_output=True, text=True, check=False, **options)
    assert ended.returncode == 0, f"{arguments}: {ended.returncode}\n{ended.stdout[-3000:]}\n{ended.stderr[-3000:]}"
    return ended.stdout


def example_of(header):
    """The indented lines of the comment a header opens with."""
    opening = header.read_text().split("#pragma once")[0]
    return "\n".join(line[5:] for line in opening.splitlines() if line.startswith("//   "))


def program_of(code, include):
    return ("#undef NDEBUG\n#include <unistd.h>\n#include <cassert>\n#include <cstdio>\n#include <vector>\n"
            f"#include <{include}>\nint main() {{\n{code}\n}}\n")


compiler = cached("CMAKE_CXX_COMPILER")
sanitize = [f"-fsanitize={cached('PLIMSOLL_SANITIZE')}"] if cached("PLIMSOLL_SANITIZE") else []

with Temporary() as place:
    prefix, work = place.path / "prefix", place.path
    do(CMAKE, "--install", BUILD, "--prefix", prefix)
    do(prefix / "bin" / "plimsoll", "--version")
    for file in ("share/man/man1/plimsoll.1", "share/man/man1/plimsoll-train.1", "share/bash-completion/completions/plimsoll",
                 "share/zsh/vendor-completions/_plimsoll", "share/fish/vendor_completions.d/plimsoll.fish"):
        assert (prefix / file).stat().st_size > 100, file

    headers = sorted((SOURCE / "include" / "plimsoll").glob("*.hpp"))
    installed = sorted(path.relative_to(prefix / "include") for path in (prefix / "include").rglob("*") if path.is_file())
    assert installed == [Path("plimsoll") / header.name for header in headers], f"installed headers: {installed}"
    for header in headers:
        (work / "alone.cpp").write_text(f"#include <plimsoll/{header.name}>\n")
        do(compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", f"-I{prefix / 'include'}", "-fsyntax-only", work / "alone.cpp")

    programs = {header.stem: program_of(example_of(header), f"plimsoll/{header.name}") for header in headers if example_of(header)}
    assert len(programs) == len(headers) - 1, f"headers without an example: {sorted(programs)}"  # plimsoll.hpp has none
    snippet = re.search(r"```cpp\n#include <plimsoll/plimsoll.hpp>\n(.*?)```", (SOURCE / "README.md").read_text(), re.S)
    assert snippet, "the README has no snippet"
    programs["readme"] = program_of(snippet.group(1), "plimsoll/plimsoll.hpp")

    consumer = work / "consumer"
    consumer.mkdir()
    for name, text in programs.items():
        (consumer / f"{name}.cpp").write_text(text)
    (consumer / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.22)\nproject(consumer CXX)\nfind_package(plimsoll REQUIRED)\n" +
        "".join(f"add_executable({name} {name}.cpp)\ntarget_link_libraries({name} PRIVATE plimsoll::plimsoll)\n" for name in programs))
    do(CMAKE, "-S", consumer, "-B", consumer / "build", f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={compiler}",
       f"-DCMAKE_CXX_FLAGS={' '.join(sanitize)}")
    do(CMAKE, "--build", consumer / "build")
    for name in programs:
        print(f"{name}:", do(consumer / "build" / name).strip())

    if not sanitize:
        symbols = do("nm", "-D", "--defined-only", consumer / "build" / "readme") + do("nm", "--defined-only", consumer / "build" / "readme")
        assert not re.search(r" [TtWw] (malloc|calloc|free)$", symbols, re.M), "the library replaces malloc in its user"

    # A mark arrives at whoever watches.
    marks = run(work, "watch", "--quiet", "--json", "--interval", "50ms", "--out", "marks.db", "--", consumer / "build" / "mark")
    phases = [row[0] for row in sqlite3.connect(work / "marks.db").execute("SELECT n.name FROM phases JOIN phase_names n ON n.id = phases.phase")]
    assert "validate" in phases, f"the phases recorded are {phases}: {marks}"

    if not shutil.which("pkg-config"):
        print("no pkg-config here: not checked")
    else:
        places = list(prefix.rglob("pkgconfig"))
        flags = do("pkg-config", "--cflags", "--libs", "plimsoll",
                   env={**os.environ, "PKG_CONFIG_PATH": ":".join(map(str, places))}).split()
        do(compiler, "-std=c++20", *sanitize, consumer / "verdict.cpp", "-o", work / "by_pkg_config", *flags)
        print("by pkg-config:", do(work / "by_pkg_config").strip())
