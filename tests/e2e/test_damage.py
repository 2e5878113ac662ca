"""A damaged checkpoint is reported and the previous one is used; if none is intact, nothing is loaded and nothing is written."""

import random
import re
import struct

from harness import *

random.seed(11)
NAMED = re.compile("is damaged|cannot read|not a valid")


def hostile_headers():
    """Files that lie about themselves."""
    def framed(text, data=b""):
        text = text if isinstance(text, bytes) else json.dumps(text).encode()
        return struct.pack("<Q", len(text)) + text + data

    def entry(first, last, shape):
        return {"dtype": "F32", "shape": shape, "data_offsets": [first, last]}

    return {
        "length beyond the file": struct.pack("<Q", 2**63) + b"{}",
        "length that wraps": struct.pack("<Q", 2**64 - 8) + b"{}",
        "ten megabytes of JSON": framed(b"[" * 10_000_000),
        "ten megabytes of names": framed(b'{"' + b"x" * 10_000_000 + b'":0}'),
        "deep nesting": framed(b'{"a":' * 100_000),
        "overlapping ranges": framed({"a": entry(0, 8, [2]), "b": entry(4, 12, [2])}, bytes(12)),
        "range beyond the file": framed({"a": entry(0, 1 << 40, [1 << 38])}),
        "shape that overflows": framed({"a": entry(0, 4, [2**62, 2**62])}, bytes(4)),
        "negative offsets": framed({"a": entry(-8, 0, [2])}, bytes(8)),
        "empty": b"",
        "not JSON": framed(b"\xff\xfe" * 8),
    }


def truncated(path):
    data = path.read_bytes()
    path.write_bytes(data[: random.randrange(len(data))])


def flipped(path):
    data = bytearray(path.read_bytes())
    data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    path.write_bytes(data)


def missing(path):
    path.unlink()


def resumed(at, newest, expected):
    """Resumes and says from where; the warning names what is damaged."""
    ended = run(at, "train", "--resume", "run", "--json", "--iterations", 40, timeout=120)
    assert NAMED.search(ended.err), ended
    assert f"step-{newest:06}" in ended.err and f"at iteration {expected}" in ended.err, ended
    assert ended.json()["iterations"] == 40
    return ended


with Temporary() as place:
    at = place.path
    run(at, "train", "--tiny", 40, "--out", "whole", "--checkpoint-every", 10, "--json")
    shutil.copytree(at / "whole", at / "cut")
    shutil.rmtree(at / "cut" / "step-000040")

    def fresh():
        shutil.rmtree(at / "run", ignore_errors=True)
        shutil.copytree(at / "cut", at / "run")
        return at / "run" / "step-000030"

    # The newest damaged in every way: named, passed over, and the run ends with the same bytes.
    for name in ("model.safetensors", "optimizer.safetensors", "state.json", "manifest.json"):
        for damage in (truncated, flipped, missing):
            newest = fresh()
            damage(newest / name)
            resumed(at, 30, 20)
            same_checkpoint(at / "whole", at / "run", 40)
    print("12 ways of damage: named, the one before used, the same bytes at the end")

    # A single bit, many times over: never loaded as if nothing had happened.
    files = ("model.safetensors", "optimizer.safetensors", "state.json", "manifest.json")
    for i in range(200 if LONG else 24):
        newest = fresh()
        flipped(newest / random.choice(files))
        sampled = run(at, "sample", "run", "--length", 1, "--json", "--threads", 1)
        assert sampled.json()["step"] == 20 and NAMED.search(sampled.err), sampled

    # Strangers in place of the model.
    for what, data in hostile_headers().items():
        newest = fresh()
        (newest / "model.safetensors").write_bytes(data)
        before = listing(at / "run")
        sampled = run(at, "sample", "run", "--length", 1, "--json", timeout=60)
        assert sampled.json()["step"] == 20, f"{what}: {sampled}"
        assert len(sampled.err.splitlines()) == 1 and len(sampled.err) < 1000, f"{what}: {sampled}"
        assert before == listing(at / "run")
        stranger = at / "stranger.safetensors"
        stranger.write_bytes(data)
        for command in (["train", "--resume", stranger], ["sample", stranger]):
            ended = run(at, *command, expect=2, timeout=60)
            assert len(ended.err.splitlines()) == 1 and len(ended.err) < 1000, f"{what}: {ended}"
    print("hostile headers: refused, the checkpoint before used")

    # All damaged: code 2, one line, nothing changed.
    newest = fresh()
    for step in checkpoints(at / "run"):
        flipped(at / "run" / f"step-{step:06}" / "model.safetensors")
    before = listing(at / "run")
    for command in (["train", "--resume", "run"], ["sample", "run"], ["eval", "run"]):
        ended = run(at, *command, expect=2)
        assert len(ended.err.splitlines()) == 1 and NAMED.search(ended.err), ended
    assert before == listing(at / "run")

    # Another model's files under right names and a right manifest: the state and the tensors contradict each other.
    newest = fresh()
    run(at, "train", "--tiny", 30, "--layers", 2, "--out", "other", "--json", "--eval-every", 0)
    shutil.rmtree(newest)
    shutil.copytree(at / "other" / "step-000030", newest)
    ended = run(at, "train", "--resume", "run", "--layers", 1, expect=2)
    assert "layers is 2 in the checkpoint and 1 here" in ended.err, ended

    # The record of the run is damaged, its checkpoints are not.
    newest = fresh()
    (at / "run" / "run.db").write_bytes(b"not a database" * 100)
    ended = run(at, "train", "--resume", "run", "--json", "--iterations", 40, expect=None)
    assert ended.code == 0 and "run.db is not a run file" in ended.err and "was renamed" in ended.err, ended
    assert (at / "run" / "run.db.damaged").read_bytes().startswith(b"not a database")
    same_checkpoint(at / "whole", at / "run", 40)
