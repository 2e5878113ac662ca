"""The benchmark driver with a stand-in that reports known figures: medians, shares, targets, files, and a one-line message if a
side fails."""

import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

DRIVER = Path(__file__).resolve().parents[2] / "bench" / "run.py"

# Times rise from call to call (1, 4, 9 … ms), so that a median differs from a mean, a first and a last value.
STAND_IN = """#!{python}
import json, pathlib, sys
words = sys.argv[1:]
if words == ["--version"]:
    print("plimsoll stand-in"); sys.exit()
assert words[-1] == "--json", words
def flag(name): return words[words.index(name) + 1]
if words[0] == "train":
    print(json.dumps({{"iterations_per_second": 4000.0 if "--tiny" in words else 50.0}})); sys.exit()
if "--generate" in words:
    print(json.dumps({{"tokens_per_second": 7.0}})); sys.exit()
if "--layers" in words:
    layers, dim = int(flag("--layers")), int(flag("--dim"))
    print(json.dumps({{"ms_per_step": 0.1 * layers * dim, "plan_bytes": 1000 * layers * dim}})); sys.exit()
if flag("--config") == "tiny4":
    print("tiny4 is broken: say so", file=sys.stderr); sys.exit(1)
count = pathlib.Path({folder!r}) / "count"
n = int(count.read_text()) + 1 if count.exists() else 1
count.write_text(str(n))
print("human text that is not JSON")
print(json.dumps({{"config": "tiny1", "ms_per_step": n * n, "tokens_per_second": 100.0,
    "gflops": 30.0, "sgemm_peak_gflops": 40.0, "peak_rss_bytes": 25_000_000, "plan_bytes": 1_000_000, "parameters": 43400}}))
"""


def main():
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "plimsoll"
        program.write_text(STAND_IN.format(python=sys.executable, folder=folder))
        program.chmod(0o755)
        command = [sys.executable, str(DRIVER), "--program", str(program), "--out", f"{folder}/out", "--no-torch", "--quick"]
        command += ["--configs", "tiny1,tiny4"]
        environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr

        results = json.loads((Path(folder) / "out" / "results.json").read_text())
        tiny = results["training"]["tiny1"]
        times = sorted(r["ours"]["ms_per_step"] for r in tiny["rounds"])
        assert len(times) == 3 and tiny["ms_per_step"] == times[1], tiny
        assert tiny["peak_share"] == 0.75 and "ratio" not in tiny, tiny
        assert list(results["training"]) == ["tiny1"], "a side that fails leaves its row out"
        assert "tiny4 is broken: say so" in done.stderr, done.stderr

        assert "25 SHORT" in done.stdout, "25 MB is above tiny's limit of 24\n" + done.stdout
        assert "4,000 ok" in done.stdout and "50 SHORT" in done.stdout, done.stdout
        assert results["time_to_first_step"]["ours"] > 0
        assert set(results["scaling"]) == {"layers", "dim", "context", "batch"}
        growth = next(line for line in done.stdout.splitlines() if "growth of work, layers" in line)
        assert "power 1.00" in growth, growth
        ElementTree.parse(f"{folder}/out/scaling.svg")
        assert (Path(folder) / "out" / "table.md").read_text().count("|---") > 0

        wrong = subprocess.run([*command[:-1], "huge"], capture_output=True, text=True, env=environment)
        assert wrong.returncode == 2 and "'huge'" in wrong.stderr, wrong.stderr


if __name__ == "__main__":
    main()
