"""Several ranks on one machine against as many threads of one process, and against PyTorch's DistributedDataParallel (gloo).

    python3 bench/ranks.py build/plimsoll                       nano and gpt2, as many ranks as cores, three rounds
    python3 bench/ranks.py build/plimsoll --config nano --rounds 5 --no-torch

Every round runs all sides one after the other; the figures are medians of the rounds. One table row for each model: the step of
one rank with N threads, of N ranks with one thread (share of the former's speed), what the exchange took and how much more of it
ran beside the backward pass, and the step of PyTorch with N processes.
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
RUNS = {  # the global batch is the same on all sides
    "nano": ("--nano", "--vocab", "65", "--batch", "12"),
    "gpt2": ("--gpt2", "--vocab", "50304", "--context", "64", "--batch", "4", "--accumulate", "1"),
}
BATCH = {"nano": 12, "gpt2": 4}
LONGEST = 900


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?")
    parser.add_argument("--config", action="append", choices=RUNS)
    parser.add_argument("--ranks", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, help="of a run; 300 of nano and 6 of gpt2 unless said")
    parser.add_argument("--mpirun", default="mpirun.openmpi")
    parser.add_argument("--no-torch", action="store_true")
    parser.add_argument("--ddp", choices=RUNS, help=argparse.SUPPRESS)  # one process of the PyTorch side
    return parser.parse_args()


def plimsoll(arguments, name, ranks, threads, steps):
    with tempfile.TemporaryDirectory() as folder:
        micro = BATCH[name] // arguments.ranks
        # Short: what is measured ends with an evaluation of its last tenth.
        text = Path(folder) / "text"
        text.write_text("to be or not to be, that is the question.\n" * 100)
        command = [] if ranks == 1 else [arguments.mpirun, "-n", str(ranks)]
        if ranks > 1 and "openmpi" in arguments.mpirun:
            command[1:1] = ["--bind-to", "none", "--oversubscribe"]
        command += [arguments.program, "train", *RUNS[name], "--micro-batch", str(micro), "--leaves", str(arguments.ranks),
                    "--data", str(text), "--threads", str(threads), "--iterations", str(steps), "--eval-every", "0", "--sample-every", "0",
                    "--checkpoint-every", "0", "--log-every", "0", "--json", "--out", f"{folder}/run"]
        environment = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, env=environment)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: {done.stderr[-500:]}")
        return json.loads(done.stdout.splitlines()[-1])


def torch_process(name, steps):
    """One of the processes of the PyTorch side; process 0 prints its median step."""
    sys.argv = ["torch_gpt.py", "--config", name, "--threads", "1"]
    sys.path.insert(0, str(HERE))
    import dataclasses

    import torch
    import torch.distributed as distributed
    import torch_gpt
    from torch.nn.parallel import DistributedDataParallel

    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    size = distributed.get_world_size()
    config = torch_gpt.CONFIGS[name]
    config = dataclasses.replace(config, batch=BATCH[name] // size)
    torch.manual_seed(1)
    model = DistributedDataParallel(torch_gpt.GPT(config), gradient_as_bucket_view=True)
    step = torch_gpt.training_step(model, config, False)
    torch_gpt.measure(step, steps=max(2, steps // 4))
    times = torch_gpt.measure(step, steps=steps)
    if distributed.get_rank() == 0:
        print(json.dumps({"ms_per_step": statistics.median(times), "torch": torch.__version__}))
    distributed.destroy_process_group()


def ddp(arguments, name, steps):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    processes = []
    for rank in range(arguments.ranks):
        environment = os.environ | {"RANK": str(rank), "WORLD_SIZE": str(arguments.ranks), "MASTER_ADDR": "127.0.0.1",
                                    "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
        processes.append(subprocess.Popen([sys.executable, __file__, "--ddp", name, "--steps", str(steps)], env=environment,
                                          stdout=subprocess.PIPE, text=True))
    texts = [process.communicate(timeout=LONGEST)[0] for process in processes]
    if any(process.returncode for process in processes):
        sys.exit("the PyTorch side failed")
    return json.loads(texts[0].splitlines()[-1])


def main():
    arguments = parse_arguments()
    if arguments.ddp:
        return torch_process(arguments.ddp, arguments.steps)
    if not arguments.program:
        sys.exit(__doc__)
    arguments.program = str(Path(arguments.program).resolve())
    for name in arguments.config or RUNS:
        steps = arguments.steps or {"nano": 300, "gpt2": 6}[name]
        threads, ranks, torch = [], [], []
        for _ in range(arguments.rounds):
            threads.append(plimsoll(arguments, name, 1, arguments.ranks, steps)["ms_per_step"])
            ranks.append(plimsoll(arguments, name, arguments.ranks, 1, steps))
            if not arguments.no_torch:
                torch.append(ddp(arguments, name, steps)["ms_per_step"])
        median = statistics.median
        of = {key: median(statistics.fmean(each[key] for each in run["ranks"]) for run in ranks)
              for key in ("exchange_ms_per_step", "hidden_exchange_ms_per_step", "waiting_ms_per_step")}
        one, several = median(threads), median(run["ms_per_step"] for run in ranks)
        print(json.dumps({
            "config": name, "one_rank_ms": one, "ranks_ms": several, "efficiency": one / several,
            "exchange_ms": of["exchange_ms_per_step"], "hidden_exchange_ms": of["hidden_exchange_ms_per_step"],
            "waiting_ms": of["waiting_ms_per_step"], "rounds": [[a, b["ms_per_step"]] for a, b in zip(threads, ranks)],
            "ddp_ms": median(torch) if torch else None, "ddp_over_ranks": median(torch) / several if torch else None}), flush=True)


if __name__ == "__main__":
    main()
