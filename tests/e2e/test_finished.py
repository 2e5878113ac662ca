"""Resuming a run that is complete: one line, nothing computed, nothing written; fewer iterations than done are refused."""

from harness import *

with Temporary() as place:
    run(place.path, "train", "--tiny", 120, "--out", "run", "--eval-every", 0, "--sample-every", 0)
    before = listing(place.path / "run")

    said = run(place.path, "train", "--resume", "run")
    assert said.out.count("\n") == 1 and "120 iterations" in said.out and "--iterations" in said.out and not said.err, said
    assert listing(place.path / "run") == before, "a run that had nothing to do wrote something"

    result = run(place.path, "train", "--resume", "run", "--json").json()
    assert result["nothing_to_do"] and result["iterations"] == 120 and result["end"] == "finished", result

    refused = run(place.path, "train", "--resume", "run", "--iterations", 10, expect=2)
    assert not refused.out and refused.err.count("\n") == 1 and "120" in refused.err and "10" in refused.err, refused
    assert listing(place.path / "run") == before

    verdict = run(place.path, "report", "run", "--json").json()["verdict"]
    assert "no memory samples" not in json.dumps(verdict), verdict
    assert run(place.path, "train", "--resume", "run", "--iterations", 130, "--json").json()["iterations"] == 130

    # A short run has no warm-up to count after.
    assert run(place.path, "train", "--tiny", 5, "--out", "short", "--json").json()["allocations_after_warmup"] is None
    print("nothing to do: said")
