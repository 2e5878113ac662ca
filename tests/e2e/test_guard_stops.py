"""Memory runs out at random steps: every time the run ends (in the long version within 5 s) with code 11 and a checkpoint that can be resumed."""

import random

from harness import *

STOPS = 100 if LONG else 2 if SANITIZED else 8
TOTAL = 1_000_000  # kB
random.seed(11)


def say_available(file, kilobytes):
    """In place, as one write: the run keeps the file open."""
    text = f"MemTotal:       {TOTAL:>10} kB\nMemFree:        {kilobytes:>10} kB\nMemAvailable:   {kilobytes:>10} kB\n"
    with open(file, "r+b" if file.exists() else "wb") as out:
        out.write(text.encode())


def reached(running):
    steps = [line.split("/")[0].split()[-1] for line in running.text().splitlines() if line.startswith("Iter ")]
    return int(steps[-1]) if steps else 0


with Temporary() as place:
    proc = place.path / "proc"
    proc.mkdir()
    worst = 0.0
    for number in range(STOPS):
        say_available(proc / "meminfo", 900_000)
        folder, step = place.path / f"run-{number}", random.randint(1, 150)
        running = Running(place.path, "train", "--small", "--out", folder, "--json", "--log-every", 1, "--eval-every", 0, "--sample-every", 0,
                          "--checkpoint-every", random.choice([0, 7]), env={"PLIMSOLL_PROC_ROOT": str(proc)})  # fmt: skip
        while reached(running) < step and running.alive():
            time.sleep(0.002)
        began = time.monotonic()
        say_available(proc / "meminfo", 30_000)
        ended = running.wait(60)
        took = time.monotonic() - began
        worst = max(worst, took)
        assert ended.code == 11, ended
        assert took < 5 or not LONG, f"it took {took:.1f} s: {ended}"
        stopped = ended.json()["iterations"]
        assert "Guard: stop" in ended.err and checkpoints(folder)[-1] == stopped >= step, (stopped, step, checkpoints(folder), ended.err[-500:])
        on = run(place.path, "train", "--resume", folder, "--iterations", stopped + 1, "--json", "--eval-every", 0, "--sample-every", 0)
        assert on.json()["iterations"] == stopped + 1 and f"at iteration {stopped}" in on.err and "note:" not in on.err, on
        shutil.rmtree(folder)
    print(f"{STOPS} stops, all valid; the slowest exit took {worst:.2f} s")
