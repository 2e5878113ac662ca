"""`--memory`: the whole process stays below the line, the losses stay the same, and a run that cannot fit is refused
immediately."""

import re
import resource
import tempfile

from harness import PROGRAM, json, needs_plain_memory, subprocess, sys, time

needs_plain_memory("a process must stay below its line")
MODELS = {
    "small": ["--small", "--batch", "8"],
    "odd": ["--layers", "4", "--heads", "4", "--dim", "160", "--context", "128", "--batch", "8", "--dropout", "0.1"],
}


def run(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def train(model, memory=None):
    with tempfile.TemporaryDirectory() as folder:
        line = ["--memory", memory] if memory else []
        arguments = ["train", *MODELS[model], "--iterations", 8, "--eval-every", 0, "--sample-every", 4, "--checkpoint-every", 4,
                     "--out", folder + "/run", "--metrics", folder + "/m", "--json", *line]  # fmt: skip
        code, out, err = run(*arguments)
        assert code == 0, err
        return json.loads(out)


def main():
    for model in MODELS:
        free = train(model)
        least = int(re.search(r"needs: (\d+) bytes", run("train", *MODELS[model], "--memory", "1MB", "--out", "/nonexistent/x")[2]).group(1))
        total = free["peak_rss_bytes"]
        tried = 0
        for budget in [total, total * 3 // 4, total // 2, total * 2 // 5, least]:
            if budget < least:
                continue
            found = train(model, budget)
            tried += 1
            assert found["peak_rss_bytes"] <= budget, (model, budget, found)
            assert abs(found["val_loss"] - free["val_loss"]) < 1e-4 and abs(found["loss"] - free["loss"]) < 1e-5, (model, budget, found, free)
            assert found["allocations_after_warmup"] in (0, None), found
            print(f"{model}: line {budget / 1e6:.1f} MB, peak {found['peak_rss_bytes'] / 1e6:.1f} MB, loss {found['loss']:.7f} ({free['loss']:.7f})")
        assert tried >= 2, (model, least, total)
        began = time.monotonic()
        code, out, err = run("train", *MODELS[model], "--memory", least - 4096, "--out", "/nonexistent/x")
        assert code == 2 and out == "" and err.count("\n") == 1 and str(least) in err, (code, out, err)
        print(f"{model}: one page below the least refused in {time.monotonic() - began:.2f} s")
    code, out, err = run("plan", *MODELS["odd"], "--sweep", "--json")
    ways = json.loads(out)["ways"]
    sizes = [way["memory_bytes"] for way in ways]
    times = [way["predicted_ms_per_step"] for way in ways]
    assert code == 0 and len(ways) >= 3 and sizes == sorted(sizes, reverse=True) and times == sorted(times), ways
    # The most the whole of these runs ever held, asked of the kernel rather than of the program.
    print("largest child:", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, "kB")


main()
