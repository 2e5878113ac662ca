"""Runs that are killed at random moments and resumed, to the end: what they leave behind must be what an undisturbed run does."""
import random

from harness import Running, checkpoints, run, shutil, signal, time


def kill_and_resume(folder, fresh, name, kills, longest):
    """Starts `fresh`, which writes to folder/name, kills it and its resumptions `kills` times, each within `longest` seconds, and lets the
    last one end. Half of the kills wait for the first checkpoint, however busy the machine. Returns how many came before there was one."""
    draw, done, before, killed = random.Random(2), 0, 0, folder / name
    while done < kills:
        begun = checkpoints(killed)
        running = Running(folder, *(["train", "--resume", name] if begun else fresh))
        while 2 * done >= kills and running.alive() and not checkpoints(killed):
            time.sleep(0.001)
        until = time.monotonic() + draw.uniform(0.02, longest)
        while running.alive() and time.monotonic() < until:
            time.sleep(0.001)
        running.send(signal.SIGKILL)
        ended = running.wait()
        if ended.code == 0:  # it was quicker: on from the oldest checkpoint
            for step in checkpoints(killed)[1:]:
                shutil.rmtree(killed / f"step-{step:06}")
            continue
        assert ended.code == -signal.SIGKILL, ended
        done += 1
        if not checkpoints(killed):
            before += 1
            shutil.rmtree(killed, ignore_errors=True)
    run(folder, *(["train", "--resume", name] if checkpoints(killed) else fresh))
    return before
