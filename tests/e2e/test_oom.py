#!/usr/bin/env python3
"""Every allocation fails once: the program says "out of memory" in one line, exits with code 1 and leaves its files whole.

The short form lets some of the allocations of each command fail, the long form all, or an even choice of COUNT of them.
"""
import collections

from faulty import chosen, each_command, fresh, run_faulty
from harness import LONG, run, sys

NAMED = next((int(word) for word in sys.argv[2:] if word.isdigit()), 0)
MOST = NAMED or (4000 if LONG else 24)

# What it is called, what is there before, the command.
COMMANDS = (
    ("config", None, ["config", "--json"]),
    ("train", None, ["train", "--tiny", "4", "--checkpoint-every", "2", "--out", "r"]),
    ("resume", "run", ["train", "--resume", "r", "--iterations", "6"]),
    ("report", "run", ["report", "r", "-o", "page.html"]),
    ("json", "run", ["report", "r", "--format", "json"]),
    ("verdict", "run", ["verdict", "r/run.db"]),
    ("sample", "run", ["sample", "r", "--length", "4"]),
    ("watch", None, ["watch", "--out", "w.db", "--", "true"]),
    ("guard", None, ["guard", "--json", "--out", "g.db", "--", "sh", "-c", "sleep 0.1"]),
)


def check_files(folder, original):
    """What was there is there, and a run that was begun can be continued or begun again."""
    if (folder / "r" / "step-000004").exists() or original:
        run(folder, "sample", "r", "--length", "1")


def one(base, name, source, arguments):
    done, (total, _) = run_faulty(fresh(base, "dry", source), arguments)
    assert done.returncode == 0 and total > 0, f"{name} without a fault: {done}"
    ends = collections.Counter()
    for number in chosen(total, MOST):
        folder = fresh(base, "work", source)
        done, _ = run_faulty(folder, arguments, f"memory {number}")
        said = done.stderr.decode(errors="replace").strip().splitlines()
        where = f"{name}, allocation {number} of {total}: code {done.returncode}, {said[-3:]}"
        assert done.returncode in (0, 1), where
        if done.returncode == 1:
            assert sum("out of memory" in line for line in said) == 1, where
            ends["ended"] += 1
        else:
            ends["managed without"] += 1
        check_files(folder, source)
    print(f"{name}: {sum(ends.values())} of {total} allocations failed: {dict(ends)}", flush=True)


each_command(COMMANDS, one)
