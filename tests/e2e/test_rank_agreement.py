"""Ranks that fare differently do the same: the guard of one stops all with one checkpoint, the memory line of one makes all
compute its way, a loss that is not a number ends all at the same step. Adapters are trained on ranks with the bytes of one."""
import json
import os
import shutil
import sys

from cgroup import Group
from harness import PROGRAM, Temporary, checkpoints, needs_plain_memory, run, same_checkpoint, skip
from tiny_model import make_model

needs_plain_memory("a rank must fit into 300 MB")
MPIRUN = ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none"]
if not shutil.which(MPIRUN[0]) or not os.path.exists(os.path.join(os.path.dirname(PROGRAM), "libplimsoll_openmpi.so")):
    skip("Open MPI is not installed (openmpi-bin)")
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
QUIET = ["--eval-every", 0, "--sample-every", 0, "--checkpoint-every", 0, "--log-every", 0, "--threads", 1]


def ranks(folder, first, second, expect):
    """Two ranks that are started with different words."""
    return run(folder, "-n", 1, *first, ":", "-n", 1, *second, program=MPIRUN, env=ROOT, expect=expect)


def guard_of_one(folder):
    """Rank 1 has little room, and another program takes it; rank 0 has all of the machine."""
    policy = folder / "guard.toml"
    policy.write_text('dwell = "0.3s"\nshrink_patience = "0.3s"\npause_bound = "1s"\npause_dwell = "0.3s"\n')
    train = ["train", "--layers", 2, "--dim", 32, "--heads", 2, "--context", 64, "--batch", 64, "--micro-batch", 32, "--leaves", 2,
             *QUIET, "--iterations", 1000000, "--policy", policy, "--json", "--out", folder / "guarded"]
    with Group(300_000_000) as group:
        group.eater(25, 285)
        ended = ranks(folder, [PROGRAM, *train], group.inside([PROGRAM, *map(str, train)]), 11)
        assert group.kills() == 0, "the kernel killed something"
    result = json.loads(ended.out.splitlines()[-1])
    assert result["end"] == "stopped", result
    steps = checkpoints(folder / "guarded")
    assert steps and steps[-1] == result["iterations"], (steps, result["iterations"])
    assert "rank 1" in ended.err, ended.err


def line_of_one(folder):
    """With a line on rank 1 alone, both compute the way that fits there; the bits are those of the same way on one rank."""
    shape = ["train", "--layers", 3, "--dim", 96, "--heads", 4, "--context", 64, "--batch", 32, *QUIET, "--iterations", 6]
    ended = ranks(folder, [PROGRAM, *shape, "--json", "--out", "lined"], [PROGRAM, *shape, "--json", "--memory", "60MB", "--out", "lined"], 0)
    peaks = [rank["peak_rss_bytes"] for rank in json.loads(ended.out.splitlines()[-1])["ranks"]]
    assert peaks[1] <= 60e6, peaks
    saved = json.loads((folder / "lined" / "step-000006" / "state.json").read_text())["settings"]
    again = [f"--{name.replace('_', '-')}={saved[name]}" for name in ("micro_batch", "leaves", "recompute", "loss_rows")]
    run(folder, *shape, *again, "--out", "alone")
    same_checkpoint(folder / "lined", folder / "alone", 6)


def not_a_number(folder):
    train = [PROGRAM, "train", "--tiny", "--batch", 4, "--micro-batch", 2, "--leaves", 2, *QUIET, "--lr", 1000, "--min-lr", 1000, "--warmup", 0, "--iterations",
             200, "--out", "lost"]
    ended = ranks(folder, train, train, 1)
    assert (ended.out + ended.err).count("Stopped at iteration") == 1, ended
    assert "is lost" not in ended.err, ended.err


def adapters(folder):
    make_model(folder / "model")
    (folder / "text.txt").write_text("to be or not to be that is the question " * 200)
    train = ["train", "--model", "model", "--tokenizer", "bytes", "--data", "text.txt", "--context", 16, "--batch", 4, "--micro-batch", 1,
             "--leaves", 3, "--lora-rank", 4, "--lora-dropout", 0.1, *QUIET, "--iterations", 8]
    run(folder, *train, "--out", "one")
    run(folder, "-n", 3, PROGRAM, *train, "--out", "three", program=MPIRUN, env=ROOT)
    same_checkpoint(folder / "one", folder / "three", 8)


with Temporary() as place:
    adapters(place.path)
    not_a_number(place.path)
    line_of_one(place.path)
    guard_of_one(place.path)
print("ranks agree")
sys.exit(0)
