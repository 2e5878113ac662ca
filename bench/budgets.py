"""Measures training with a memory line: each model with lines of 100, 75, 50 and 40 % of what it uses without one, and with the
minimum.

Trains a few steps with every line and compares the peak of the process with the line, and the losses of the first steps and the time per step
with those of the run without a line, and the time with the predicted one. Prints a table in Markdown; the exit code is 1 if a guarantee
is violated. On a machine that is busy with other work times say little: the share of the time that the threads ran is printed beside them.

    python3 bench/budgets.py build/plimsoll --models small,nano --isa avx2
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

MODELS = {
    "tiny": ["--tiny", "--batch", "4"],
    "small1": ["--small"],
    "small": ["--small", "--batch", "16"],
    "nano": ["--nano"],
    "baby": ["--baby"],
    "gpt2": ["--gpt2", "--accumulate", "1", "--vocab", "50304", "--batch", "4", "--context", "256"],
    "gpt2-short": ["--gpt2", "--accumulate", "1", "--vocab", "50304", "--batch", "4", "--context", "64", "--clip", "0"],
    "gpt2-long": ["--gpt2", "--accumulate", "1", "--vocab", "50304", "--batch", "1", "--context", "1024", "--clip", "0"],
    "gpt2-least": ["--gpt2", "--accumulate", "1", "--vocab", "50304", "--batch", "1", "--context", "64"],
}
COMPARED = 20  # steps whose losses must agree: another order of sums grows with every step
STEPS = {"tiny": 2000, "small1": 1000, "small": 100, "nano": 100}  # the others 4
ENDS = set(STEPS)  # the others are stopped: their final evaluation would take minutes


def rows(path):
    try:
        with open(path) as file:
            return [row for row in map(json.loads, (line for line in file if line.endswith("\n"))) if row["type"] == "step"]
    except FileNotFoundError:
        return []


def train(program, model, isa, memory=None):
    """Trains some steps and returns losses by step and what the run said of itself."""
    steps = STEPS.get(model, 4)
    with tempfile.TemporaryDirectory() as folder:
        metrics = os.path.join(folder, "metrics")
        command = [program, "train", *MODELS[model], "--iterations", str(steps if model in ENDS else 1000), "--log-every", "1", "--eval-every", "0",
                   "--sample-every", "0", "--checkpoint-every", "0", "--dropout", "0", "--out", os.path.join(folder, "run"), "--metrics", metrics,
                   "--json", "--isa", isa]  # fmt: skip
        if memory:
            command += ["--memory", str(memory)]
        with open(os.path.join(folder, "said"), "w") as said:
            child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, text=True)
            while model not in ENDS and child.poll() is None and len(rows(metrics)) < steps:
                time.sleep(0.1)
            if model not in ENDS:
                child.send_signal(signal.SIGTERM)
            out = child.communicate()[0]
        if not out or json.loads(out)["iterations"] < steps:
            raise SystemExit(f"{' '.join(command)}: {open(os.path.join(folder, 'said')).read()[-400:]}")
        return {row["step"]: row["loss"] for row in rows(metrics)}, json.loads(out)


def predicted(program, model, isa):
    """Without a line nothing is chosen, so only `plan` predicts."""
    done = subprocess.run([program, "plan", *MODELS[model], "--dropout", "0", "--isa", isa, "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["predicted_ms_per_step"]


def least(program, model):
    done = subprocess.run([program, "train", *MODELS[model], "--memory", "1MB", "--out", "/nonexistent/x"], capture_output=True, text=True)
    return int(re.search(r"needs: (\d+) bytes", done.stderr).group(1))


def refused(program, model, budget):
    began = time.monotonic()
    done = subprocess.run([program, "train", *MODELS[model], "--memory", str(budget), "--out", "/nonexistent/x"], capture_output=True, text=True)
    return done.returncode == 2 and "needs:" in done.stderr, time.monotonic() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--models", default="small,nano,baby,gpt2")
    parser.add_argument("--isa", default="auto")
    parser.add_argument("--shares", default="1,0.75,0.5,0.4", help="lines, as shares of what a run uses without one; empty: no line at all")
    options = parser.parse_args()
    broken, shares = 0, [float(share) for share in options.shares.split(",") if share]
    print("| model | line | peak of the process | against no line | measured / predicted ms | threads ran | largest difference of a loss | |\n"
          "|---|---|---|---|---|---|---|---|")
    for model in options.models.split(","):
        smallest = least(options.program, model)
        losses, free = train(options.program, model, options.isa)
        milliseconds, total = free["ms_per_step"], free["peak_rss_bytes"]
        print(f"| {model} | none | {total / 1e6:.1f} MB | 1.00x | {milliseconds:.3g} / {predicted(options.program, model, options.isa):.3g} | {free['processor_share']:.0%} | | |", flush=True)
        if not shares:
            continue
        for name, budget in [*((f"{share:.0%}", int(total * share)) for share in shares), ("least", smallest)]:
            if budget < smallest:
                said, took = refused(options.program, model, budget)
                broken += not said
                print(f"| {model} | {name}: {budget / 1e6:.1f} MB | refused in {took:.2f} s | | | | | {'' if said else 'BROKEN'} |", flush=True)
                continue
            got, done = train(options.program, model, options.isa, budget)
            time_of_step, peak = done["ms_per_step"], done["peak_rss_bytes"]
            apart = max(abs(losses[step] - got[step]) for step in losses if step in got and step <= COMPARED)
            held = peak <= budget and apart <= 1e-5
            broken += not held
            print(f"| {model} | {name}: {budget / 1e6:.1f} MB | {peak / 1e6:.1f} MB | {time_of_step / milliseconds:.2f}x | "
                  f"{time_of_step:.3g} / {done['predicted_ms_per_step']:.3g} | {done['processor_share']:.0%} | {apart:.1e} | {'' if held else 'BROKEN'} |",
                  flush=True)  # fmt: skip
        said, took = refused(options.program, model, smallest - 4096)
        broken += not said
        print(f"| {model} | one page below the least | refused in {took:.2f} s | | | | | {'' if said else 'BROKEN'} |", flush=True)
    sys.exit(broken > 0)


main()
