"""Ranks on several "machines": network namespaces with a line of known delay, bandwidth and loss between them. The bytes of a
checkpoint are those of one process. With --long, two and four machines on a fast and on a slow line, and for each the step
beside the arithmetic: bytes over bandwidth, and what `plimsoll plan` predicts.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import machines
from test_ranks import PATIENCE, SKIPPED, environment, tensors

LONG = "--long" in sys.argv
PROGRAM = os.path.abspath(sys.argv[1])
QUIET = "--eval-every 0 --sample-every 0 --checkpoint-every 0 --log-every 0 --threads 1 --json".split()
# Delay in seconds, bits a second, share of frames lost.
FAST, SLOW = (0.0002, 1e9, 0.0), (0.005, 1e8, 0.001)


def train(command, out):
    done = subprocess.run([*command, "--out", str(out)], capture_output=True, text=True, timeout=PATIENCE, env=environment())
    assert done.returncode == 0, (command, done.stdout[-500:], done.stderr[-2000:])
    return json.loads(done.stdout.splitlines()[-1])


def check(work, count, line, model, steps):
    """A run on so many machines, and what it took."""
    run = ["train", *model, "--leaves", str(count), *QUIET, "--iterations", str(steps)]
    alone = train([PROGRAM, *run], work / f"alone-{count}-{line[1]:g}")
    out = work / f"machines-{count}-{line[1]:g}"
    with machines.Machines(count, *line) as several:
        together = train(several.mpirun(1, PROGRAM, *run), out)
        sent, lost = max(several.carried), several.frames_lost.value
    assert tensors(out, steps) == tensors(work / f"alone-{count}-{line[1]:g}", steps), f"{count} machines give other bytes"
    return alone["ms_per_step"], together, sent, lost


def report(work, count, line, model, steps):
    alone, together, sent, lost = check(work, count, line, model, steps)
    words = [PROGRAM, "plan", *model, "--leaves", str(count), "--threads", "1", "--ranks", str(count), "--bandwidth", f"{line[1] / 1e6:g}Mbit",
             "--latency", f"{line[0] * 1e3:g}ms", "--json"]
    plan = json.loads(subprocess.run(words, capture_output=True, text=True, check=True, timeout=PATIENCE).stdout)
    of = max(plan["by_rank"], key=lambda rank: rank["sent_bytes_per_step"])
    print(f"{count} machines, {line[0] * 1e3:g} ms, {line[1] / 1e6:g} Mbit/s, {line[2]:.1%} loss: {together['ms_per_step']:.1f} ms a step "
          f"(one process {alone:.1f} ms, efficiency {alone / together['ms_per_step'] / count:.0%}); bytes over bandwidth "
          f"{of['sent_bytes_per_step'] * 8 / line[1] * 1e3:.1f} ms; predicted {plan['predicted_ms_per_step']:.1f} ms; a machine sent {sent / 1e6:.1f} MB, "
          f"{lost} frames lost", flush=True)


def main():
    if not machines.possible() or not os.path.exists(os.path.join(os.path.dirname(PROGRAM), "libplimsoll_openmpi.so")):
        print("skipped: needs root, /dev/net/tun and Open MPI")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        if not LONG:
            check(work, 2, FAST, ["--tiny", "--batch", "4", "--micro-batch", "2", "--dropout", "0.1"], 6)
            return 0
        for count in (2, 4):
            for line, steps in ((FAST, 40), (SLOW, 12)):
                report(work, count, line, ["--nano", "--batch", "24", "--micro-batch", "6", "--dropout", "0.1"], steps)
    return 0


if __name__ == "__main__":
    sys.exit(main())
