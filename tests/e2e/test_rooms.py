"""The table of rooms in docs/design.md is true: every include of src/ keeps to it, and only platform touches the system.

Run by hand it takes another source tree: test_rooms.py PROGRAM [TREE]. It needs no program; argument 1 is ignored.
"""
import pathlib
import re
import sys
import tempfile

INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)')
SOURCES = ("*.cpp", "*.hpp", "*.c", "*.h")

# What reaches the operating system past the C++ library. A name alone is looked for where nothing of ours is called so;
# of common words (open, read, close...) only the form with `::` in front is.
SYSTEM_HEADERS = re.compile(
    r"^(aio|csignal|dirent|dlfcn|elf|execinfo|fcntl|fnmatch|ftw|glob|grp|ifaddrs|link|malloc|mqueue|netdb|poll|pthread|pwd"
    r"|sched|semaphore|signal|spawn|syslog|termios|time|ucontext|unistd|utime|wait)\.h$|^csignal$"
    r"|^(arpa|asm|linux|net|netinet|sys)/")
SYSTEM_CALLS = re.compile(
    r"(?<![\w.>:\"])(?:::\s*)?(accept4?|clock_gettime|dlopen|dlsym|epoll_\w+|exec[lv]p?e?|f?truncate|fcntl|fdatasync|fork|fsync|futex"
    r"|getaddrinfo|gethostname|getpid|getppid|getrusage|getsockname|inet_\w+|ioctl|isatty|kill|madvise|malloc_trim|mkdtemp|mkstemp"
    r"|mlock(?:all)?|mmap|munmap|nanosleep|pipe2?|posix_spawnp?|ppoll|prctl|pread|pthread_\w+|pwrite|raise|recvfrom|recvmsg"
    r"|sched_\w+|sendmsg|sendto|setpriority|setrlimit|setsid|setsockopt|sigaction|sigprocmask|socketpair|std::signal|std::raise"
    r"|syscall|sysconf|uname|unlinkat|vfork|waitpid)\s*\("
    r"|(?<![\w>])::(access|bind|close|connect|lseek|open|openat|poll|read|recv|rmdir|send|socket|stat|unlink|write)\s*\(")
SYSTEM_FILES = re.compile(r'"/(?:proc|sys)/')
# base/file is the one seam for files. What is preloaded into other programs may not bring a library of ours with it.
SYSTEM_SEAMS = ("src/platform/", "src/base/file.", "src/heap/preload/")


def strip(text):
    """The source with comments blanked, lines kept."""
    blank = lambda match: re.sub(r"[^\n]", " ", match.group(0)) if match.group(0)[0] == "/" else match.group(0)
    return re.sub(r'//[^\n]*|/\*.*?\*/|R"\((?:.*?)\)"|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S)


def read_table(page):
    """{room: (line, allowed rooms)} in the order of the table, and what is wrong with it."""
    rows, problems, inside = {}, [], False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if cells == ["room", "what lives there", "may use"]:
            inside = True
        elif inside and not line.startswith("|"):
            break
        elif inside and not line.startswith("|---"):
            above = list(rows)
            words, _, but = cells[2].partition(" but ")
            names = lambda text: [name.strip() for name in text.split(",") if name.strip() not in ("", "–")]
            allowed = above if words == "all above" or words == "all" else names(words)
            for name in allowed + names(but):
                if name not in above:
                    problems.append(f"docs/design.md:{number}: '{name}' is not a room above this row")
            for room in re.findall(r"`src/(\w+)`", cells[0]):
                rows[room] = (number, (set(allowed) - set(names(but))) | {"base", room})
    if not rows:
        problems.append("docs/design.md: has no table that begins with | room | what lives there | may use |")
    return rows, problems


def includes(tree):
    """(file, line number, header, quoted) of every include, and the text of every file without comments."""
    found, texts = [], {}
    for file in sorted(path for kind in SOURCES for path in (tree / "src").rglob(kind)):
        name = file.relative_to(tree).as_posix()
        texts[name] = strip(file.read_text())
        for number, line in enumerate(texts[name].splitlines(), 1):
            if match := INCLUDE.match(line):
                found.append((name, number, match.group(1) or match.group(2), bool(match.group(1))))
    return found, texts


def check_edges(tree, rows, found):
    problems, edges = [], {}
    folders = {path.name for path in (tree / "src").iterdir() if path.is_dir()}
    problems += [f"src/{room}: has no row in the table of docs/design.md" for room in sorted(folders - set(rows))]
    problems += [f"docs/design.md:{rows[room][0]}: there is no src/{room}" for room in rows if room not in folders]
    for file, number, header, quoted in found:
        parts = file.split("/")
        if not quoted or len(parts) < 3:
            continue
        room, used = parts[1], header.split("/")[0]
        if (tree / file).parent.joinpath(header).exists():
            continue  # beside it
        if used not in folders:
            problems.append(f'{file}:{number}: "{header}" is in no room of src/')
            continue
        if used != room:
            edges.setdefault(room, {}).setdefault(used, f"{file}:{number}")
        if room in rows and used not in rows[room][1]:
            problems.append(f'{file}:{number}: "{header}": {room} may not use {used} (docs/design.md:{rows[room][0]})')
    return problems, edges


def check_cycles(edges):
    """Each way round once, as the includes it is made of."""
    problems, done = [], set()

    def visit(room, way):
        if room in way:
            cycle = way[way.index(room):]
            if frozenset(cycle) not in done:
                done.add(frozenset(cycle))
                steps = [f"{a} uses {b} ({edges[a][b]})" for a, b in zip(cycle, cycle[1:] + cycle[:1])]
                problems.append("cycle: " + ", ".join(steps))
            return
        for used in sorted(edges.get(room, {})):
            if (room, used) not in seen:
                visit(used, way + [room])
        for used in edges.get(room, {}):
            seen.add((room, used))

    seen = set()
    for room in sorted(edges):
        visit(room, [])
    return problems


def check_system(found, texts):
    problems = []
    for file, number, header, quoted in found:
        if not quoted and SYSTEM_HEADERS.search(header) and not file.startswith(SYSTEM_SEAMS):
            problems.append(f"{file}:{number}: <{header}>: only src/platform touches the system")
    for file, text in texts.items():
        if file.startswith(SYSTEM_SEAMS):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            code = re.sub(r'"(?:\\.|[^"\\])*"', '""', line)
            if match := SYSTEM_CALLS.search(code):
                problems.append(f"{file}:{number}: {match.group(0)}...): only src/platform touches the system")
            if SYSTEM_FILES.search(line):
                problems.append(f"{file}:{number}: a file of the kernel's: only src/platform touches the system")
    return problems


def check(tree):
    rows, problems = read_table(tree / "docs" / "design.md")
    found, texts = includes(tree)
    wrong, edges = check_edges(tree, rows, found)
    return problems + wrong + check_cycles(edges) + check_system(found, texts)


def check_the_check():
    """A small tree that breaks every rule once: each must be named, with file and line."""
    table = "| room | what lives there | may use |\n|---|---|---|\n"
    files = {
        "src/base/text.hpp": "",
        "src/base/file.cpp": "#include <fcntl.h>\n",
        "src/platform/proc.cpp": '#include <signal.h>\nstd::ifstream file("/proc/self/stat");\n',
        "src/verdict/judge.cpp": '#include "base/text.hpp"\n// #include "cli/main.hpp"\n#include "report/page.hpp"\n',
        "src/report/page.hpp": '#include "verdict/judge.hpp"\n#include "base/text.hpp"\n#include "nowhere/at_all.hpp"\n',
        "src/verdict/judge.hpp": "",
        "src/stray/stray.cpp": "",
        "src/live/site.cpp": '#include "report/page.hpp"\n#include <sys/socket.h>\n\n  kill(pid, 9);\n  ::write(1, "", 0);\n'
                             '  file.read("/proc/stat"); log.kill(1); say("fork()"); // fork()\n',
        "docs/design.md": table + "| `src/base` | | – |\n| `src/platform` | | base |\n| `src/verdict` | | base |\n"
                                  "| `src/report` | | verdict |\n| `src/live` | | all above but report, gone |\n| `src/empty` | | – |\n",
    }
    expected = [
        'src/verdict/judge.cpp:3: "report/page.hpp": verdict may not use report (docs/design.md:5)',
        'src/report/page.hpp:3: "nowhere/at_all.hpp" is in no room of src/',
        'src/live/site.cpp:1: "report/page.hpp": live may not use report (docs/design.md:7)',
        "src/stray: has no row in the table of docs/design.md",
        "docs/design.md:8: there is no src/empty",
        "docs/design.md:7: 'gone' is not a room above this row",
        "cycle: report uses verdict (src/report/page.hpp:1), verdict uses report (src/verdict/judge.cpp:3)",
        "src/live/site.cpp:2: <sys/socket.h>: only src/platform touches the system",
        "src/live/site.cpp:4: kill(...): only src/platform touches the system",
        "src/live/site.cpp:5: ::write(...): only src/platform touches the system",
        "src/live/site.cpp:6: a file of the kernel's: only src/platform touches the system",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        got = check(pathlib.Path(folder))
    assert sorted(got) == sorted(expected), "\n".join(["the check itself is wrong:"] + sorted(set(got) ^ set(expected)))


def main():
    check_the_check()
    tree = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else pathlib.Path(__file__).resolve().parents[2]
    problems = check(tree)
    print("\n".join(problems) or "rooms: every include keeps to the table of docs/design.md")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
