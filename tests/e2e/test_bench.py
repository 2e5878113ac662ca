"""`plimsoll bench`: the documented figures exist and are consistent, and bad input gives a one-line message."""

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = sys.argv[1]
sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
from configs import CONFIGS, Config  # noqa: E402

PROMISED = [
    "config", "ms_per_step", "tokens_per_second", "gflops", "sgemm_peak_gflops", "peak_rss_bytes", "plan_bytes", "parameters",
]  # fmt: skip


def bench(*arguments):
    done = subprocess.run([PROGRAM, "bench", *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def close(a, b):
    return abs(a - b) <= 1e-6 * abs(b)


def check_training(found, name, config):
    assert list(found)[: len(PROMISED)] == PROMISED, found
    assert found["config"] == name and found["parameters"] == config.parameters, found
    assert close(found["tokens_per_second"], config.tokens * 1e3 / found["ms_per_step"]), found
    assert close(found["gflops"], config.flops_per_step / found["ms_per_step"] / 1e6), found
    assert close(found["share_of_peak"], found["gflops"] / found["sgemm_peak_gflops"]), found
    assert found["steps"] >= 5 and 0 < found["ms_min"] <= found["ms_per_step"], found
    # Weights and both moments at least, and every planned byte is resident.
    assert 12 * config.parameters < found["plan_bytes"] < found["peak_rss_bytes"], found


def main():
    for name in ("tiny1", "tiny4", "small1", "nano"):
        check_training(json.loads(bench("--config", name, "--seconds", 0.05, "--threads", 2, "--json")), name, CONFIGS[name])
    shape = {"vocab": 11, "context": 9, "layers": 1, "heads": 3, "dim": 12, "batch": 2}
    flags = [word for field, value in shape.items() for word in (f"--{field}", value)]
    check_training(json.loads(bench(*flags, "--seconds", 0, "--threads", 1, "--json")), "custom", Config(**shape))

    generated = json.loads(bench("--generate", "--config", "tiny1", "--seconds", 0.05, "--json"))
    assert generated["config"] == "tiny1" and generated["tokens_per_second"] > 0, generated
    assert generated["tokens"] % 32 == 0, "only whole contexts count"
    for words in ((), ("--generate",)):
        text = bench("--config", "tiny1", "--seconds", 0, *words)
        assert "43,400 parameters" in text and "{" not in text, text

    for arguments, reason in (
        (("--config", "nani"), "'nano'"),
        (("--dim", 30), "--heads 4"),
        (("--layers", 0), "--layers 0"),
        (("--threads", -1), "--threads -1"),
        (("--seconds", -1), "--seconds -1"),
        (("--gemm", "fast"), "'fast'"),
        (("--dim", 65536, "--vocab", 1000000, "--layers", 12), "available"),
    ):
        done = subprocess.run([PROGRAM, "bench", *map(str, arguments), "--json"], capture_output=True, text=True)
        assert done.returncode == 2 and done.stdout == "", (arguments, done)
        assert reason in done.stderr and done.stderr.count("\n") == 1, (arguments, done.stderr)


if __name__ == "__main__":
    main()
