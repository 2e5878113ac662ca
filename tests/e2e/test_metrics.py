"""`--metrics`: every logged step is there with a time that goes on, also after a resume; the page names every key."""

import re

from harness import *

with Temporary() as place:
    file = place.path / "metrics.jsonl"
    run(place.path, "train", "--tiny", 300, "--log-every", 100, "--eval-every", 150, "--out", "run", "--metrics", file)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    steps = [line["step"] for line in lines if line["type"] == "step"]
    assert {100, 200, 300} <= set(steps), steps
    assert steps == sorted(set(steps)), steps
    assert [line["step"] for line in lines if line["type"] == "evaluation"] == [150, 300], lines
    times = [line["time"] for line in lines]
    assert all(isinstance(time, float) and time >= 0 for time in times) and times == sorted(times), times
    run(place.path, "train", "--resume", "run", "--iterations", 400, "--metrics", file)
    more = [json.loads(line) for line in file.read_text().splitlines()][len(lines):]
    assert more and more[0]["time"] >= times[-1] and more[-1]["step"] == 400, more
    page = (SOURCE / "docs" / "formats" / "metrics.md").read_text()
    for line in lines:
        missing = [key for key in line if not re.search(rf"`{key}`", page)]
        assert not missing, f"docs/formats/metrics.md does not name {missing}"
    print(len(lines), "lines,", len(more), "after the resume")

    # The only step of a run is made with the peak of its schedule, which falls to zero with the step after it.
    losses = []
    for rate in (1e-12, 1e-2):
        said = run(place.path, "train", "--tiny", 1, "--warmup", 0, "--lr", rate, "--min-lr", 0, "--out", f"once-{rate}", "--json")
        losses.append(said.json()["val_loss"])
    assert losses[1] < losses[0] - 0.01, losses
