"""A run in several sessions ends with the same bytes as an uninterrupted one: after SIGTERM, after SIGKILL during a save, with
any number of threads."""

from harness import *

ITERATIONS = 300


def until_step(running, folder, step):
    """Waits for a checkpoint of `step` or later."""
    until = time.monotonic() + 120
    while max(checkpoints(folder), default=-1) < step:
        assert running.alive(), f"ended before step {step}: {running.wait()}"
        assert time.monotonic() < until, f"no checkpoint {step} after 120 s"
        time.sleep(0.001)


def stopped_in_save(running, folder, after):
    """Freezes the program while it writes a checkpoint later than `after`; the step it was writing, or none if it has ended."""
    while running.alive():
        if (saving(folder) or -1) > after:
            running.send(signal.SIGSTOP)
            # The signal may have come late: only a save that is still there counts.
            if (step := saving(folder)) and step > after:
                return step
            running.send(signal.SIGCONT)
    return None


def in_parts(place, name, arguments, threads):
    """Three parts: the first ends by SIGTERM, the second by SIGKILL inside a save."""
    whole, parts = place.path / f"{name}-whole", place.path / f"{name}-parts"
    common = ["--json", "--checkpoint-every", 20, "--eval-every", 50, "--sample-every", 0]
    run(place.path, "train", *arguments, "--iterations", ITERATIONS, "--out", whole, *common, "--threads", threads[0])

    first = Running(place.path, "train", *arguments, "--iterations", ITERATIONS, "--out", parts, *common, "--threads", threads[0])
    until_step(first, parts, 40)
    first.send(signal.SIGTERM)
    ended = first.wait()
    assert ended.code == 130, f"after SIGTERM: {ended}"
    said = ended.json()
    assert said["end"] == "interrupted" and said["iterations"] == max(checkpoints(parts)), said
    reached = said["iterations"]
    assert 40 <= reached < ITERATIONS, reached

    second = Running(place.path, "train", "--resume", parts, *common, "--threads", threads[1])
    writing = stopped_in_save(second, parts, reached)
    assert writing, f"never caught in a save: {second.wait()}"
    before = checkpoints(parts)
    second.send(signal.SIGKILL)
    assert second.wait().code == -signal.SIGKILL
    assert saving(parts) == writing, "killed, but not inside the save"

    ended = run(place.path, "train", "--resume", parts, *common, "--threads", threads[2])
    assert f"at iteration {max(before)}" in ended.err, ended
    assert ended.json()["iterations"] == ITERATIONS
    same_checkpoint(whole, parts, ITERATIONS)
    assert saving(parts) is None and not list(parts.glob(".step-*")), "something of the killed save is left"
    print(f"{name}: terminated at {reached}, killed while writing {writing}, the same bytes at {ITERATIONS}")


with Temporary() as place:
    in_parts(place, "grammar", ["--tiny"], [2, 2, 2])
    in_parts(place, "dropout", ["--tiny", "--dropout", 0.1, "--accumulate", 2, "--batch", 2], [1, 2, 1])
    in_parts(place, "8bit", ["--tiny", "--optimizer", "adamw_8bit"], [2, 1, 2])
    text = place.path / "text.txt"
    text.write_text("".join(f"{n} times {n} is {n * n}, so it ïs.\n" for n in range(2000)))
    in_parts(place, "text", ["--tiny", "--data", text, "--batch", 3, "--heads", 4], [2, 1, 3])
    if LONG:
        in_parts(place, "small", ["--small"], [2, 1, 2])
        in_parts(place, "nano", ["--nano"], [2, 2, 1])
