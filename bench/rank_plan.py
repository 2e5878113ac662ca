"""What `plimsoll plan --ranks N` predicts beside what N ranks on this machine take.

    python3 bench/rank_plan.py build/plimsoll                   nano, 1 to 4 ranks with one thread each, 100 steps

One table row for each number of ranks: predicted and measured milliseconds a step, and the error.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

MODEL = ["--nano", "--vocab", "65", "--batch", "12", "--micro-batch", "1", "--leaves", "12", "--threads", "1"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--steps", type=int, default=100)
    arguments = parser.parse_args()
    program = str(Path(arguments.program).resolve())
    environment = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    print("| ranks | predicted | measured | error |\n|---|---|---|---|")
    for ranks in range(1, 5):
        plan = subprocess.run([program, "plan", *MODEL, "--ranks", str(ranks), "--json"], capture_output=True, text=True, check=True)
        plan = json.loads(plan.stdout)
        predicted = plan["predicted_ms_per_step"]
        with tempfile.TemporaryDirectory() as folder:
            text = Path(folder) / "text"
            text.write_text("to be or not to be, that is the question.\n" * 100)
            command = [] if ranks == 1 else ["mpirun.openmpi", "--bind-to", "none", "--oversubscribe", "-n", str(ranks)]
            command += [program, "train", *MODEL, "--data", str(text), "--iterations", str(arguments.steps), "--eval-every", "0", "--sample-every", "0",
                        "--checkpoint-every", "0", "--log-every", "0", "--json", "--out", f"{folder}/run"]
            done = subprocess.run(command, capture_output=True, text=True, env=environment)
            if done.returncode != 0:
                sys.exit(f"{' '.join(command)}: {done.stderr[-500:]}")
            measured = json.loads(done.stdout.splitlines()[-1])["ms_per_step"]
        print(f"| {ranks} | {predicted:.1f} ms | {measured:.1f} ms | {predicted / measured - 1:+.0%} |", flush=True)


if __name__ == "__main__":
    main()
