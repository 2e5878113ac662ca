"""`--memory`: the whole process stays below the line, the losses stay the same, and a run that cannot fit is refused
immediately."""

import re
import resource
import tempfile

from cgroup import Group
from harness import PROGRAM, json, needs_plain_memory, subprocess, sys, time

needs_plain_memory("a process must stay below its line")
MODELS = {
    "small": ["--small", "--batch", "8"],
    "odd": ["--layers", "4", "--heads", "4", "--dim", "160", "--context", "128", "--batch", "8", "--dropout", "0.1"],
}


def run(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def train(model, memory=None, group=None):
    with tempfile.TemporaryDirectory() as folder:
        line = ["--memory", memory] if memory else []
        arguments = ["train", *MODELS[model], "--iterations", 8, "--eval-every", 0, "--sample-every", 4, "--checkpoint-every", 4,
                     "--out", folder + "/run", "--metrics", folder + "/m", "--json", *line]  # fmt: skip
        command = [PROGRAM, *map(str, arguments)]
        done = subprocess.run(group.inside(command) if group else command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout), done.stderr


def in_a_group_of_its_size(model, free):
    """A line as large as the control group: the guard's lines are below it, and the plan is chosen for them."""
    limit = free["peak_rss_bytes"] * 3 // 4
    with Group(limit) as group:
        found, said = train(model, limit, group)
        assert found["peak_rss_bytes"] <= limit * 8 // 10 and group.kills() == 0, found
        assert found["guard"]["actions"] == [], found["guard"]
        assert said.count(f"instead of --memory {limit}") == 1, said
        assert abs(found["loss"] - free["loss"]) < 1e-5, (found, free)
        print(f"{model}: group and line {limit / 1e6:.1f} MB, peak {found['peak_rss_bytes'] / 1e6:.1f} MB")


def main():
    for model in MODELS:
        free, _ = train(model)
        least = int(re.search(r"needs: (\d+) bytes", run("train", *MODELS[model], "--memory", "1MB", "--out", "/nonexistent/x")[2]).group(1))
        total = free["peak_rss_bytes"]
        tried = 0
        for budget in [total, total * 3 // 4, total // 2, total * 2 // 5, least]:
            if budget < least:
                continue
            found, _ = train(model, budget)
            tried += 1
            assert found["peak_rss_bytes"] <= budget, (model, budget, found)
            assert abs(found["val_loss"] - free["val_loss"]) < 1e-4 and abs(found["loss"] - free["loss"]) < 1e-5, (model, budget, found, free)
            assert found["allocations_after_warmup"] in (0, None), found
            # What is allowed for the process itself is what it takes, and at most 3 MB more: how much code is resident varies by where it lies.
            assert budget != least or found["peak_rss_bytes"] > least - 3_000_000, (model, least, found)
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
    in_a_group_of_its_size("odd", train("odd")[0])
    # The most the whole of these runs ever held, asked of the kernel rather than of the program.
    print("largest child:", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, "kB")


main()
