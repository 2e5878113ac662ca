"""What the tests of plimsoll profile share: a program with one leaking line, and running it."""
import os
import subprocess
import sys
import textwrap

from watching import PLIMSOLL, Result

if not os.path.exists(os.path.join(os.path.dirname(PLIMSOLL), "libplimsoll_heap.so")):
    print("skipped: the library to preload is not built here")
    sys.exit(77)

# One leaking line of 200 kB, one that holds what it frees again, ends as asked.
LEAK = """
import os, signal, sys, time
kept, cache = [], {}
def handle(i):
    kept.append(bytearray(200_000))  # the leak
def scratch(i):
    cache[i % 10] = [bytearray(50_000) for _ in range(20)]
for i in range(int(sys.argv[2])):
    handle(i)
    scratch(i)
    time.sleep(0.02)
if sys.argv[1] == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[1] == "_exit":
    os._exit(3)
"""
LEAKING_LINE = next(i for i, line in enumerate(LEAK.split("\n"), 1) if "the leak" in line)
STEPS = 300


def profile(*arguments, timeout=300, **options):
    done = subprocess.run([PLIMSOLL, "profile", "--quiet", "--json", "--interval", "100ms", "--rate", "128KiB", *map(str, arguments)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout, **options)
    return Result(done.returncode, done.stdout, done.stderr)


def script(folder, text, name="train.py"):
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write(textwrap.dedent(text))
    return path


def check_leak(result, path, line, total):
    json = result.json
    site = json["sites"][0]
    where = (site["file"], site["line"])
    assert where == (path, line), f"{where} instead of {(path, line)}\n{result.err.decode()}"
    assert 0.75 * total < site["bytes"] < 1.25 * total, (site["bytes"], total)
    assert site["share"] > 0.8, json["sites"][:3]
    assert json["verdict"] == "leak" and json["answer"] == "leak" and site["verdict"] == "leak", json
    return site
