"""Failures during a run: a full disk, a loss that becomes NaN, Ctrl-C. The last good checkpoint is always kept and can be
resumed."""

from harness import *


def diverges(place):
    """A learning rate far too high: stopped, told when, and what was saved before is good."""
    at = place.path
    wild = ["--lr", 1000, "--min-lr", 1000, "--weight-decay", 1, "--clip", 0, "--warmup", 0, "--iterations", 2000]
    ended = run(at, "train", "--tiny", "--out", "wild", *wild, "--checkpoint-every", 1, "--eval-every", 0, "--sample-every", 0,
                "--json", expect=1)
    result = ended.json()
    assert result["end"] == "diverged", result
    assert f"at iteration {result['iterations']}" in ended.err, ended
    assert "last good checkpoint" in ended.err, ended
    kept = checkpoints(at / "wild")
    if kept:
        from array import array
        for step in kept:
            for name in ("model", "optimizer"):
                data = (at / "wild" / f"step-{step:06}" / f"{name}.safetensors").read_bytes()
                numbers = array("f", data[8 + int.from_bytes(data[:8], "little") :])
                assert all(abs(x) < float("inf") for x in numbers), f"{name} of step {step} holds what is no number"
    again = run(at, "train", "--resume", "wild", "--json", expect=1)
    assert again.json()["end"] == "diverged"
    sampled = run(at, "sample", "wild", "--length", 5, "--json") if kept else None
    print(f"diverged at {result['iterations']}, kept {kept}", sampled.json()["step"] if sampled else "")


def interrupted(place):
    at = place.path
    running = Running(at, "train", "--tiny", 1000000, "--out", "long", "--json", "--checkpoint-every", 1000)
    while not checkpoints(at / "long"):
        assert running.alive(), running.wait()
        time.sleep(0.01)
    running.send(signal.SIGINT)
    ended = running.wait(60)
    assert ended.code == 130, ended
    result = ended.json()
    assert result["end"] == "interrupted" and result["iterations"] == max(checkpoints(at / "long")), result
    print("interrupted at", result["iterations"])


def stubborn_folders(place):
    """What cannot be removed or was not saved on the way is a warning: the last checkpoint is there, so the code is 0."""
    at = place.path
    args = ["--eval-every", 0, "--sample-every", 0, "--keep", 1, "--json"]
    run(at, "train", "--tiny", 100, "--out", "stubborn", *args)
    (at / "stubborn" / "step-000100" / "mine").write_text("keeps the folder alive")
    ended = run(at, "train", "--resume", "stubborn", "--iterations", 200, *args)  # its one save removes step 100
    assert "warning" in ended.err and "removing an old checkpoint" in ended.err, ended
    assert ended.json()["end"] == "finished" and ended.json()["val_tokens"] > 0, ended
    (at / "stubborn" / ".step-000250.tmp").mkdir()
    (at / "stubborn" / ".step-000250.tmp" / "mine").write_text("not a file of a checkpoint")
    ended = run(at, "train", "--resume", "stubborn", "--iterations", 300, *args, "--checkpoint-every", 50)
    assert "step-000250 was not saved" in ended.err and ended.json()["end"] == "finished", ended
    assert checkpoints(at / "stubborn")[-1] == 300
    print("stubborn folders: warned, finished")


def full_disk(place):
    """The disk fills while the run goes on: it says so and goes on, what was saved stays; the last save failing gives code 1."""
    disk = place.mount("disk", "-t", "tmpfs", "-o", "size=4m", "tmpfs")
    if not disk:
        return print("not root: no full disk was tried")
    args = ["--tiny", 4000, "--checkpoint-every", 50, "--eval-every", 0, "--sample-every", 0, "--json"]
    running = Running(place.path, "train", *args, "--out", disk / "run")
    while len(checkpoints(disk / "run")) < 2:
        assert running.alive(), running.wait()
    running.send(signal.SIGSTOP)
    with open(disk / "filler", "wb", buffering=0) as filler:
        try:
            while filler.write(bytes(4096)):
                pass
        except OSError:
            pass
    running.send(signal.SIGCONT)
    ended = running.wait(120)
    assert ended.code == 1, ended
    assert "No space left" in ended.err and "continues" in ended.err, ended
    assert not ended.out, ended
    kept = checkpoints(disk / "run")
    assert kept, "no checkpoint survived"
    (disk / "filler").unlink()
    again = run(place.path, "train", "--resume", disk / "run", "--json", "--eval-every", 0)
    assert "damaged" not in again.err and again.json()["iterations"] == 4000, again
    print(f"full disk: kept {kept}, went on to the end afterwards")

    # Full from the start.
    small = place.mount("small", "-t", "tmpfs", "-o", "size=16k", "tmpfs")
    ended = run(place.path, "train", *args, "--out", small / "run", expect=1)
    assert len(ended.err.splitlines()) <= 12 and ("No space left" in ended.err or "full" in ended.err), ended


with Temporary() as place:
    diverges(place)
    interrupted(place)
    stubborn_folders(place)
    full_disk(place)
