"""SIGKILL at random moments and during saves: the run can be resumed every time and ends with the same bytes as an undisturbed
one."""

import random

from harness import *

KILLS = 50 if LONG else 12
EVERY = 15
random.seed(20 if LONG else 7)


def kill_once(place, run_folder, arguments, inside):
    """Starts or continues the run and kills it; whether that was inside a save, or none if the run came to its end first."""
    running = Running(place.path, "train", *arguments, "--json", "--checkpoint-every", EVERY, "--eval-every", 0, "--sample-every", 0)
    reached = max(checkpoints(run_folder), default=-1)
    if inside:
        skipped = random.randrange(3)  # not always the first save of this part
        while running.alive():
            step = saving(run_folder)
            if step is None or step < reached + skipped * EVERY:
                continue
            running.send(signal.SIGSTOP)
            if saving(run_folder) is not None:
                break
            running.send(signal.SIGCONT)
    else:
        until = time.monotonic() + random.uniform(0, 0.35)
        while running.alive() and time.monotonic() < until:
            time.sleep(0.0005)
    running.send(signal.SIGKILL)
    ended = running.wait()
    if ended.code == 0:
        return None
    assert ended.code == -signal.SIGKILL, f"it did not resume: {ended}"
    assert "damaged" not in ended.err, ended
    return saving(run_folder) is not None


with Temporary() as place:
    iterations = 40 * KILLS
    whole, disturbed = place.path / "whole", place.path / "disturbed"
    fresh = ["--tiny", iterations, "--out", disturbed]
    run(place.path, "train", "--tiny", iterations, "--out", whole, "--json", "--checkpoint-every", 0, "--eval-every", 0, "--sample-every", 0)
    kills = inside_kills = 0
    while kills < KILLS:
        begun = (disturbed / "run.json").exists() or checkpoints(disturbed)
        inside = kill_once(place, disturbed, ["--resume", disturbed] if begun else fresh, inside_kills * 5 < kills * 2)
        if inside is None:
            # It got to the end in between: go on from the oldest checkpoint, as after a longer outage.
            for step in checkpoints(disturbed)[1:]:
                shutil.rmtree(disturbed / f"step-{step:06}")
            continue
        kills += 1
        inside_kills += inside
        if not begun and not (disturbed / "run.json").exists():
            shutil.rmtree(disturbed, ignore_errors=True)  # killed before there was a run
    last = run(place.path, "train", "--resume", disturbed, "--json", "--checkpoint-every", EVERY)
    assert last.json()["iterations"] == iterations
    same_checkpoint(whole, disturbed, iterations)
    print(f"{kills} kills, {inside_kills} inside a save; all resumed, the same bytes at {iterations}")
    assert inside_kills * 3 >= kills, "too few kills inside a save"
