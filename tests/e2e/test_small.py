"""`train --small`: every figure it reports, constant memory despite evaluations, samples and checkpoints, and learning towards
the entropy floor."""

import sqlite3

from harness import *

KEYS = ("iterations parameters loss val_loss entropy_floor iterations_per_second tokens_per_second plan_bytes plan_lower_bound_bytes "
        "rss_after_warmup_bytes rss_end_bytes peak_rss_bytes allocations_after_warmup gemm threads").split()
ITERATIONS = 10000 if LONG else 1500
EVENTS = [] if LONG else ["--eval-every", 250, "--sample-every", 300, "--checkpoint-every", 400]
FOLDER = "a folder whose name does not fit into a short string"


with Temporary() as place:
    ended = run(place.path, "train", "--small", ITERATIONS, "--out", FOLDER, "--json", *EVENTS, timeout=3000)
    result = ended.json()
    print(json.dumps(result), "peak from outside:", ended.peak)
    for key in KEYS:
        assert key in result, f"{key} is missing"
    assert result["iterations"] == ITERATIONS and result["parameters"] == 422179
    for word in ("Eval", "Sample at", "Iter"):
        assert word in ended.err, f"no {word} on stderr"
    assert len(checkpoints(place.path / FOLDER)) >= 3

    assert result["plan_lower_bound_bytes"] <= result["plan_bytes"] <= 1.02 * result["plan_lower_bound_bytes"]
    if not SANITIZED:
        assert result["allocations_after_warmup"] == 0, result["allocations_after_warmup"]
        assert result["rss_end_bytes"] - result["rss_after_warmup_bytes"] <= 1_000_000
        assert result["peak_rss_bytes"] <= 80_000_000 and ended.peak <= 80_000_000
        # What the program says of itself is what the kernel says of it.
        assert abs(ended.peak - result["peak_rss_bytes"]) <= 8_000_000, (ended.peak, result["peak_rss_bytes"])

    # The last step was evaluated before it was recorded: its norm must still be the step's own.
    with sqlite3.connect(place.path / FOLDER / "run.db") as record:
        norms = [norm for (norm,) in record.execute("SELECT grad_norm FROM steps")]
    assert norms and all(0 < norm < 100 for norm in norms), norms[-3:]

    # A model that knows nothing loses ln 35 = 3.56; one that knows how often each letter comes, about 2.8.
    above = result["val_loss"] / result["entropy_floor"]
    assert above > 0.99, "below the entropy of the data: the floor or the evaluation is wrong"
    assert above < (1.03 if LONG else 2.2), f"{above:.3f} times the floor"
    # The parts add up: evaluating the saved model anew gives the same loss.
    if not LONG:
        again = run(place.path, "eval", FOLDER, "--json").json()
        assert abs(again["loss"] - result["val_loss"]) < 1e-6, (again, result["val_loss"])
