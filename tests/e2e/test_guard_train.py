"""A run that just fits into a control group of 300 MB, next to a process that allocates 20 MB/s: the run shrinks as planned and
grows back, and its losses are those of an undisturbed run. If the other process stays, the run saves, exits with code 11,
and resumes exactly."""

from cgroup import Group
from harness import *

needs_plain_memory("a run must fit into 300 MB")

LIMIT = 300_000_000
# A warm-up without end: the learning rate of a step does not depend on how many follow.
SHAPE = ["--layers", 4, "--dim", 32, "--heads", 2, "--context", 64, "--lr", 0.03, "--warmup", 100000]
MODEL = [*SHAPE, "--batch", 384, "--micro-batch", 384]
QUIET = ["--eval-every", 0, "--sample-every", 0, "--checkpoint-every", 0, "--log-every", 1, "--json"]
POLICY = 'dwell = "1s"\nshrink_patience = "1s"\npause_bound = "4s"\npause_dwell = "0.5s"\nprediction_horizon = "0s"\n'


def losses(file):
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    return {row["step"]: row["loss"] for row in rows if row["type"] == "step"}


def wait_for(running, text, seconds=120):
    until = time.monotonic() + seconds
    while text not in running.text():
        assert running.alive(), f"it ended: {running.wait()}"
        assert time.monotonic() < until, f"no '{text}' in {running.text()}"
        time.sleep(0.02)


def same_curve(one, other, least):
    common = sorted(one.keys() & other.keys())
    assert len(common) >= least, (len(common), len(one), len(other))
    apart = {step: abs(one[step] - other[step]) for step in common}
    worst = max(apart.values())
    assert worst <= 1e-5, f"losses differ by {worst}: {apart}"
    return worst, len(common)


with Temporary() as place, Group(LIMIT) as group:
    policy, disturbed, whole = place.path / "guard.toml", place.path / "disturbed", place.path / "whole"
    policy.write_text(POLICY)

    # What cannot fit is refused at once, with a line that would.
    refused = run(place.path, "train", *SHAPE, "--batch", 768, "--micro-batch", 768, *QUIET, "--out", place.path / "x", expect=2,
                  program=group.inside([PROGRAM]))  # fmt: skip
    assert refused.err.count("\n") == 1 and "--memory 2" in refused.err and not (place.path / "x").exists(), refused
    print(refused.err.strip())

    running = Running(place.path, "train", *MODEL, *QUIET, "--iterations", 1000, "--policy", policy, "--out", disturbed,
                      "--metrics", place.path / "disturbed.jsonl", program=group.inside([PROGRAM]))  # fmt: skip
    wait_for(running, "Iter     3/")
    passing = group.eater(20, 50)
    wait_for(running, "Guard: shrink")
    passing.stdout.readline()
    passing.kill()
    passing.wait()
    wait_for(running, "Guard: grow")
    time.sleep(0.5)
    group.eater(20, 285)
    ended = running.wait(120)
    print("\n".join(line for line in ended.err.splitlines() if line.startswith("Guard:")))
    assert ended.code == 11, ended
    assert group.kills() == 0, "the kernel killed something"
    result = ended.json()
    assert result["end"] == "stopped" and result["guard"]["stopped"] and result["guard"]["limit_bytes"] == LIMIT // 4096 * 4096, result
    actions = result["guard"]["actions"]
    kinds = [action["action"] for action in actions]
    for kind in ("shrink", "grow", "stop"):
        assert kind in kinds, kinds
    first, back = kinds.index("shrink"), kinds.index("grow")
    assert first < back < kinds.index("stop"), kinds
    for action in actions:
        assert action["as_planned"], action
    assert actions[first]["planned_bytes"] < -40e6 and actions[first]["micro_batch"] < 384, actions[first]
    assert actions[back]["micro_batch"] == 384, actions[back]
    assert result["allocations_after_warmup"] in (0, None), result["allocations_after_warmup"]
    stopped = result["iterations"]
    assert checkpoints(disturbed)[-1] == stopped, (checkpoints(disturbed), stopped)

    # The neighbour is gone; go on, twice, to the same bytes, and compare with a run that was never disturbed.
    for child in group.children:
        child.kill()
        child.wait()
    last = stopped + 8
    twin = place.path / "twin"
    shutil.copytree(disturbed, twin)
    for folder in (disturbed, twin):
        run(place.path, "train", "--resume", folder, *QUIET, "--iterations", last, "--metrics", place.path / f"{folder.name}-on.jsonl",
            program=group.inside([PROGRAM]))  # fmt: skip
    same_checkpoint(disturbed, twin, last)
    run(place.path, "train", *MODEL, *QUIET, "--iterations", last, "--guard", "off", "--out", whole, "--metrics", place.path / "whole.jsonl")
    undisturbed = losses(place.path / "whole.jsonl")
    worst, count = same_curve(losses(place.path / "disturbed.jsonl"), undisturbed, min(stopped, 10) // 2)
    print(f"losses of {count} steps before the stop at {stopped} within {worst:.1e}")
    worst, count = same_curve(losses(place.path / "disturbed-on.jsonl"), undisturbed, 1)
    print(f"losses of {count} steps after it within {worst:.1e}")
