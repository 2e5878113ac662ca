#!/usr/bin/env python3
"""Every file operation fails once: the program ends with a message, or goes on and says so; nothing that was saved is lost.

After each failure the run folder is sampled from and resumed without a fault: what was there before the fault is still
usable, and a checkpoint that the program said was saved is whole. The short form lets some of the operations fail, the long
form all of them.
"""
import collections

from faulty import chosen, each_command, fresh, run_faulty
from harness import LONG, checkpoints, run, sys

NAMED = next((int(word) for word in sys.argv[2:] if word.isdigit()), 0)
MOST = NAMED or (100_000 if LONG else 12)

COMMANDS = (
    ("train", None, ["train", "--tiny", "4", "--checkpoint-every", "2", "--out", "r"]),
    ("resume", "run", ["train", "--resume", "r", "--iterations", "8", "--checkpoint-every", "2"]),
    ("record", None, ["watch", "--out", "w.db", "--", "sleep", "0.05"]),
    ("report", "run", ["report", "r", "-o", "page.html"]),
    ("export", "run", ["report", "r", "-o", "steps.csv", "--format", "csv"]),
    ("sample", "run", ["sample", "r", "--length", "2"]),
)


def check_files(folder, before, done, where):
    """The newest checkpoint of before is usable, or a newer one; a run goes on from there as it would have."""
    newest = max(checkpoints(folder / "r"), default=None)
    if before:
        assert newest is not None and newest >= 4, f"{where}: checkpoints {checkpoints(folder / 'r')}"
    if newest is None:
        return
    ended = run(folder, "train", "--resume", "r", "--iterations", newest + 1, expect=None)
    assert ended.code == 0, f"{where}: cannot be resumed afterwards: {ended}"


def one(base, name, source, arguments):
    done, (_, total) = run_faulty(fresh(base, "dry", source), arguments)
    assert done.returncode == 0 and total > 0, f"{name} without a fault: {done}, {total} file operations"
    ends = collections.Counter()
    for number in chosen(total, MOST):
        folder = fresh(base, "work", source)
        done, _ = run_faulty(folder, arguments, f"files {number}")
        said = done.stderr.decode(errors="replace").strip().splitlines()
        where = f"{name}, file operation {number} of {total}: code {done.returncode}, {said[-2:]}"
        assert done.returncode in (0, 1, 2), where
        assert done.returncode == 0 or said, f"{where}: no message"
        if name in ("train", "resume", "sample"):
            check_files(folder, source, done, where)
        ends["ended with a message" if done.returncode else "went on"] += 1
    print(f"{name}: {sum(ends.values())} of {total} file operations failed: {dict(ends)}", flush=True)


each_command(COMMANDS, one)
