#!/usr/bin/env python3
"""What a picture tells about the name of an emoji: models that see it beside models that see white, on names held out.

    python3 bench/emoji.py PROGRAM FOLDER [--seeds 5] [--iterations 1600]      # 3 minutes a seed on two idle cores

Makes the set with scripts/emoji-set.py in FOLDER where it is not there yet. For each seed two models are trained alike, one of them with white
pictures throughout. Each held-out name is then asked for: its nats under both models, and under the first one when it is shown the picture of
another held-out name. Skin tones of one name are one unit of the standard errors, because their pictures and names are nearly the same.
"""
import argparse
import importlib.util
import json
import math
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

SCRIPTS = pathlib.Path(__file__).resolve().parents[1] / "scripts"
SET = importlib.util.module_from_spec(spec := importlib.util.spec_from_file_location("emoji_set", SCRIPTS / "emoji-set.py"))
spec.loader.exec_module(SET)


def rows_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def whiten(folder, out):
    """The same rows, every picture white."""
    from PIL import Image
    out.mkdir()
    Image.new("RGB", (SET.EDGE, SET.EDGE), "white").save(out / "white.png")
    for part in ("train", "held-out"):
        (out / f"{part}.jsonl").write_text("".join(json.dumps({**row, "image": "white.png"}) + "\n" for row in rows_of(folder / f"{part}.jsonl")))


def nats(program, run, folder, swapped=False):
    """By held-out name without its tone: the nats, bytes (end marks included) and names. Swapped: names have the pictures of others."""
    groups = {}
    for row in rows_of(folder / "held-out.jsonl"):
        groups.setdefault(SET.base_name(row["response"]), []).append(row)
    if swapped:
        shown = random.Random(1).sample(list(groups), len(groups))
        turned = dict(zip(shown, shown[1:] + shown[:1]))
        groups = {base: [{**row, "image": groups[turned[base]][i % len(groups[turned[base]])]["image"]} for i, row in enumerate(rows)]
                  for base, rows in groups.items()}
    out = {}
    with tempfile.TemporaryDirectory() as name:
        asked = pathlib.Path(name, "rows.jsonl")
        for base, rows in groups.items():
            asked.write_text("".join(json.dumps({**row, "image": str((folder / row["image"]).resolve())}) + "\n" for row in rows))
            done = subprocess.run([program, "eval", run, "--data", asked, "--all", "--json", "--threads", "1"], capture_output=True, text=True, check=True)
            found = json.loads(done.stdout)
            out[base] = (found["loss"] * found["targets"], found["targets"], len(rows))
    return out


def with_error(values, weights):
    """The weighted mean of independent units, and its standard error."""
    total = sum(weights)
    mean = sum(v * w for v, w in zip(values, weights)) / total
    spread = sum((w * (v - mean)) ** 2 for v, w in zip(values, weights))
    return mean, math.sqrt(spread * len(values) / (len(values) - 1)) / total


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--iterations", type=int, default=1600)
    parser.add_argument("--threads", type=int, default=0)
    options = parser.parse_args()
    sets = {"seen": options.folder / "set", "white": options.folder / "white"}
    if not sets["white"].exists():
        options.folder.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, SCRIPTS / "emoji-set.py", sets["seen"]], check=True)
        whiten(*sets.values())
    # Seeds may be measured one after another; what is known is kept.
    kept = options.folder / f"nats-{options.iterations}.json"
    known = json.loads(kept.read_text()) if kept.exists() else {}
    arms = ("seen", "white", "other")
    for seed in range(options.first, options.first + options.seeds):
        for arm in arms:
            if f"{arm} {seed}" in known:
                continue
            trained = "white" if arm == "white" else "seen"
            folder, run = sets[trained], options.folder / f"{trained}-{seed}-{options.iterations}"
            if not run.exists():
                subprocess.run([options.program, "train", "--vision", "tiny", "--data", folder / "train.jsonl", "--iterations", str(options.iterations),
                                "--seed", str(seed), "--eval-every", "0", "--image-samples", "0", "--threads", str(options.threads), "--out", run, "--json"],
                               check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            found = nats(options.program, run, folder, arm == "other")
            # Others may have measured meanwhile.
            known = {**(json.loads(kept.read_text()) if kept.exists() else {}), f"{arm} {seed}": found}
            kept.write_text(json.dumps(known))
    seeds = sorted(int(name.split()[1]) for name in known if name.startswith("other") and name.replace("other", "white") in known)
    names, targets = (sum(of[i] for of in known[f"seen {seeds[0]}"].values()) for i in (2, 1))
    for seed in seeds:
        print(f"seed {seed}: nats a byte: " + ", ".join(f"{arm} {sum(of[0] for of in known[f'{arm} {seed}'].values()) / targets:.4f}" for arm in arms))
    for arm in arms[1:]:
        gains, sizes = [], []  # nats a name gains by its picture, mean of the seeds
        for base, (_, _, count) in known[f"seen {seeds[0]}"].items():
            gains.append(statistics.mean(known[f"{arm} {seed}"][base][0] - known[f"seen {seed}"][base][0] for seed in seeds) / count)
            sizes.append(count)
        mean, error = with_error(gains, sizes)
        print(f"{names} names, {len(gains)} without tones, {len(seeds)} seeds: beside {arm} the picture gains {mean:.2f} +- {error:.2f} nats a name "
              f"({mean * names / targets:.4f} a byte); {sum(g > 0 for g in gains)} of {len(gains)} gain")


if __name__ == "__main__":
    main()
