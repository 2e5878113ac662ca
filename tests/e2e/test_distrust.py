"""Samples with provenance end to end: well-attested samples are learned better if they are weighted and not otherwise; a
resumed run ends with the same bytes; both terms of the loss are recorded; errors in a file are reported with their line."""

import random
import sqlite3

from harness import *

NAMES = ["ann", "max", "joe", "eve", "tom", "kim", "sue", "bob"]
MODEL = ["--tiny", "--batch", 8, "--accumulate", 2, "--lr", "1e-3", "--shuffle-buffer", 256, "--sample-every", 0, "--threads", 2]


def line(text, **fields):
    return json.dumps({"text": text, **fields})


def contradictions(path, count=3000):
    """Half of the samples say yes, with a good provenance; the others say nay to the same, on authority. A model cannot please both."""
    draw = random.Random(7)
    lines = []
    for i in range(count):
        high = i % 2 == 0
        fields = {"auth_weight": 0.05, "prov_entropy": 7.5} if high else {"auth_weight": 0.9, "prov_entropy": 1.0}
        lines.append(line(f"{draw.choice(NAMES)} says {'yes' if high else 'nay'}", **fields))
    path.write_text("\n".join(lines) + "\n")


def metrics_of(out):
    return out.with_name(out.name + ".metrics")


def groups(place, data):
    found = {}
    for strength in (0, 0.5, 1):
        out = place.path / f"run-{strength}"
        said = run(place.path, "train", *MODEL, "--iterations", 250, "--data", data, "--distrust-lambda", strength, "--out", out, "--json",
                   "--metrics", metrics_of(out)).json()
        assert said["allocations_after_warmup"] in (0, None), said
        provenance = said["provenance"]
        measured = run(place.path, "eval", out, "--json").json()["provenance"]
        for name in ("high", "low"):
            assert abs(measured[name]["loss"] - provenance[name]["loss"]) < 1e-4, (measured, provenance)
            assert measured[name]["tokens"] == provenance[name]["tokens"] > 500, provenance
        text = run(place.path, "eval", out).out
        assert "High provenance: " in text and "Low provenance: " in text, text
        found[strength] = (provenance["high"]["loss"], provenance["low"]["loss"])
        logged_apart(out, said, strength)
    print("high and low by strength:", {k: f"{h:.3f} {l:.3f}" for k, (h, l) in found.items()})
    assert abs(found[0][0] - found[0][1]) < 0.06, f"without weights no group is better: {found}"
    assert found[1][0] < found[1][1] - 0.2, f"with weights the well attested is: {found}"
    assert found[1][0] < found[0][0], found
    assert found[0][1] - found[0][0] < found[0.5][1] - found[0.5][0] < found[1][1] - found[1][0], found


def logged_apart(out, said, strength):
    """The parts add up to the loss: in run.db, in the metrics, in the last object."""
    with sqlite3.connect(f"file:{out}/run.db?mode=ro", uri=True) as database:
        rows = database.execute("SELECT loss, cross_entropy, distrust FROM steps").fetchall()
    steps = [json.loads(text) for text in metrics_of(out).read_text().splitlines()]
    steps = [step for step in steps if step["type"] == "step"]
    assert rows and steps
    if strength == 0:
        assert all(row[1:] == (None, None) for row in rows), rows[:3]
        assert all("distrust" not in step for step in steps)
        assert said["provenance"]["distrust"] == 0 and said["provenance"]["cross_entropy"] == said["loss"]
        return
    for loss, cross_entropy, distrust in rows:
        assert abs(cross_entropy + distrust - loss) < 1e-6 and distrust != 0, (loss, cross_entropy, distrust)
    assert all(abs(step["cross_entropy"] + step["distrust"] - step["loss"]) < 1e-6 for step in steps)
    assert abs(said["provenance"]["cross_entropy"] + said["provenance"]["distrust"] - said["loss"]) < 1e-6


def said_in_lines(place, data):
    ended = run(place.path, "train", *MODEL, "--iterations", 20, "--log-every", 10, "--data", data, "--distrust-lambda", 1, "--out",
                place.path / "lines")
    assert "| Cross-entropy: " in ended.out and "| Distrust: " in ended.out and "By provenance: " in ended.out, ended
    plan = run(place.path, "plan", "--tiny", "--data", data, "--distrust-lambda", 1, "--json").json()
    assert plan["plan_bytes"] > 0


def in_parts(place, data):
    """Resumed in the middle of an epoch and in a later one, with other micro-batches kept out of it by the checkpoint."""
    common = ["--data", data, "--distrust-lambda", 1, "--checkpoint-every", 30, "--keep", 100, "--eval-every", 0]
    whole, parts = place.path / "whole", place.path / "parts"
    run(place.path, "train", *MODEL, "--iterations", 240, "--out", whole, *common)
    run(place.path, "train", *MODEL, "--iterations", 240, "--out", parts, *common)
    for step in (30, 210):  # an epoch is about 70 steps
        for later in checkpoints(parts):
            if later > step:
                shutil.rmtree(parts / f"step-{later:06}")
        run(place.path, "train", "--resume", parts)
        same_checkpoint(whole, parts, 240)
    other = run(place.path, "train", "--resume", whole, "--distrust-lambda", 0.5, expect=2)
    assert "distrust_lambda is 1 in the checkpoint and 0.5 here" in other.err, other


def plain_when_nothing_weighs(place):
    """Strength 0 takes the very same steps as a file that says nothing of provenance."""
    draw = random.Random(3)
    texts = [f"{draw.choice(NAMES)} says {draw.choice(NAMES)}" for _ in range(500)]
    silent, spoken = place.path / "silent.jsonl", place.path / "spoken.jsonl"
    silent.write_text("\n".join(line(text) for text in texts))
    spoken.write_text("\n".join(line(text, auth_weight=i % 90 / 100, prov_entropy=i % 9) for i, text in enumerate(texts)))
    for data in (silent, spoken):
        run(place.path, "train", *MODEL, "--iterations", 60, "--data", data, "--out", place.path / data.stem)
    same_checkpoint(place.path / "silent", place.path / "spoken", 60)
    # All alike weigh alike: with any strength.
    said = run(place.path, "train", *MODEL, "--iterations", 60, "--data", silent, "--distrust-lambda", 1, "--out", place.path / "alike",
               "--json").json()
    same_checkpoint(place.path / "silent", place.path / "alike", 60)
    assert said["provenance"]["without_auth_weight"] == said["provenance"]["without_prov_entropy"] == 500, said
    assert said["provenance"]["distrust"] == 0, said


def refusals(place):
    good = [line(f"{name} says {other}", auth_weight=0.1, prov_entropy=6) for name in NAMES for other in NAMES]
    bad = place.path / "bad.jsonl"
    bad.write_text("\n".join([*good[:6], '{"text": "x", "auth_weight": 1.5}', "", "{nonsense", '{"text": "only"}', *good[6:]]))
    before = set(os.listdir(place.path))
    ended = run(place.path, "train", *MODEL, "--data", bad, expect=2)
    assert "line 7 has an `auth_weight` out of range" in ended.err and "--skip-bad" in ended.err, ended
    assert ended.err.count("\n") == 1 and set(os.listdir(place.path)) == before, ended
    run(place.path, "plan", "--tiny", "--data", bad, expect=2)
    small = ["--tiny", "--batch", 2, "--context", 16, "--sample-every", 0, "--iterations", 5]
    ended = run(place.path, "train", *small, "--data", bad, "--skip-bad", "--json", "--out", place.path / "skipped")
    assert "2 malformed lines skipped; the first: line 7 " in ended.err, ended
    assert "1 of 65 samples have no auth_weight; it is taken as 0" in ended.err, ended
    assert "1 of 65 samples have no prov_entropy; it is taken as 5" in ended.err, ended
    said = ended.json()["provenance"]
    assert (said["samples"], said["skipped_lines"], said["without_auth_weight"]) == (65, 2, 1), said
    run(place.path, "eval", place.path / "skipped", "--data", bad, "--all", expect=2)
    measured = run(place.path, "eval", place.path / "skipped", "--data", bad, "--all", "--skip-bad", "--json").json()
    assert measured["provenance"]["high"]["tokens"] + measured["provenance"]["low"]["tokens"] == measured["tokens"], measured

    empty = place.path / "empty.jsonl"
    empty.write_text("")
    assert "has no samples" in run(place.path, "train", "--tiny", "--data", empty, expect=2).err
    for arguments in (["--distrust-lambda", 1], ["--distrust-lambda", 1, "--data", __file__]):
        assert "--data FILE.jsonl" in run(place.path, "train", "--tiny", *arguments, expect=2).err
    for strength in ("-0.1", "1.5", "nan"):
        run(place.path, "train", "--tiny", "--data", bad, "--distrust-lambda", strength, expect=2)
    unknown = place.path / "unknown.jsonl"
    unknown.write_text(line("ann says Ж"))
    ended = run(place.path, "eval", place.path / "skipped", "--data", unknown, "--all", expect=2)
    assert "line 1 has the character 'Ж'" in ended.err, ended


with Temporary() as place:
    data = place.path / "contradictions.jsonl"
    contradictions(data)
    groups(place, data)
    said_in_lines(place, data)
    in_parts(place, data)
    plain_when_nothing_weighs(place)
    refusals(place)
