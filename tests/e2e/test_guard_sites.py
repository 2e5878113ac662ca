"""plimsoll guard --sites: a stop names the line that grew."""
import json
import os
import sqlite3
import subprocess
import sys
import tempfile

from watching import PLIMSOLL, SPECIMENS, run_all

if not os.path.exists(os.path.join(os.path.dirname(PLIMSOLL), "libplimsoll_heap.so")):
    print("skipped: the library to preload is not built here")
    sys.exit(77)

# The model is as large as what makes the program too large, and was there before.
GROWS = """import time
model = bytearray(100_000_000)
time.sleep(1)
kept = []
def train_step():
    kept.append(bytearray(2_000_000))  # grows
while True:
    train_step()
    time.sleep(0.02)
"""


def guard(*arguments):
    done = subprocess.run([PLIMSOLL, "guard", "--sites", "--json", "--grace", "2s", *map(str, arguments)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=120)
    return done.returncode, json.loads(done.stdout.rstrip("\n").split("\n")[-1]) if done.stdout else None, done.stderr


def test_warning_and_stop_name_the_line():
    with tempfile.TemporaryDirectory() as folder:
        path, record = os.path.join(folder, "train.py"), os.path.join(folder, "run.db")
        with open(path, "w") as file:
            file.write(GROWS)
        code, said, messages = guard("--limit", "300MB", "--out", record, "--", sys.executable, path)
        assert code == 11 and said["stopped"], messages
        stop = next(action for action in said["actions"] if action["level"] == "stop")
        assert "train.py:6 in train_step: kept.append(" in stop["line"], (stop, messages)
        assert "the line that grew most: " in messages and messages.count("train.py:6 in train_step") >= 2, messages
        assert "no line was seen to grow" not in messages, messages
        site = max(said["sites"], key=lambda site: site["bytes"])
        assert (site["file"], site["line"]) == (path, 6) and site["bytes"] > 100e6, site
        rows = sqlite3.connect(record).execute("SELECT stack, bytes FROM sites ORDER BY bytes DESC").fetchall()
        assert f"{path}:6 train_step" in rows[0][0], rows[0]


def test_native_line():
    code, said, messages = guard("--limit", "150MB", "--", os.path.join(SPECIMENS, "heap_leak"))
    assert code == 11, messages
    stop = next(action for action in said["actions"] if action["level"] == "stop")
    assert "heap_leak.cpp" in stop["line"] and "remember" in stop["line"], stop


def test_only_for_what_the_guard_launches():
    code, _, messages = guard("--pid", os.getpid())
    assert code == 2 and messages.count("\n") == 1 and "--pid" in messages, messages


run_all(dict(globals()))
