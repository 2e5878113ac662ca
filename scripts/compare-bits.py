#!/usr/bin/env python3
"""Trains the same runs with two builds of plimsoll and compares their checkpoints byte for byte.

    scripts/compare-bits.py OLD NEW [--only PATTERN] [--isa plain,avx2,avx512] [--jobs N] [-- OPTIONS OF TRAIN]

OLD and NEW are program files. A case is a preset with a few steps and the options that change how a step is computed:
lanes, micro-batches, recomputation, rows of logits, dropout, provenance weights, a resume, a memory line. `--isa` runs
every case once for each instruction set by PLIMSOLL_ISA; a program that does not know the variable uses its best one.
Options after `--` are given to both programs in every case, for example a learning rate where the presets have different ones.
Exits with 1 where any pair differs, and names it.
"""
import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TEXT = ["--data", "{text}"]  # a short validation part: the embedded corpus has 200,000 tokens of it
SMALL_BABY = ["--baby", "2", "--batch", "4", "--context", "64", *TEXT]
SMALL_GPT2 = ["--gpt2", "1", "--batch", "1", "--accumulate", "2", "--context", "32", *TEXT]
NANO = ["--data", "{text}", "--nano"]
CASES = {
    "tiny": ["--tiny", "40"],
    "tiny batch 4, lanes 1": ["--tiny", "40", "--batch", "4", "--lanes", "1"],
    "tiny batch 4, lanes 2": ["--tiny", "40", "--batch", "4", "--micro-batch", "1", "--lanes", "2"],
    "small": ["--small", "20"],
    "small, accumulated": ["--small", "10", "--batch", "4", "--accumulate", "3", "--micro-batch", "2", "--lanes", "1"],
    "small, three lanes": ["--small", "10", "--batch", "6", "--micro-batch", "1", "--lanes", "3"],
    "small, one thread": ["--small", "10", "--threads", "1"],
    "medium": ["--medium", "5", *TEXT],
    "large": ["--large", "2", *TEXT],
    "nano": [*NANO, "6"],
    "nano, lanes 1": [*NANO, "6", "--lanes", "1"],
    "nano, lanes 2": [*NANO, "6", "--micro-batch", "6", "--lanes", "2"],
    "nano, dropout": [*NANO, "6", "--dropout", "0.1"],
    "nano, recompute cheap": [*NANO, "4", "--micro-batch", "3", "--lanes", "1", "--recompute", "cheap"],
    "nano, recompute blocks": [*NANO, "4", "--micro-batch", "3", "--lanes", "1", "--recompute", "blocks"],
    "nano, recompute two blocks": [*NANO, "4", "--micro-batch", "3", "--lanes", "2", "--recompute", "blocks:2"],
    "nano, 8 rows of logits": [*NANO, "4", "--micro-batch", "1", "--loss-rows", "8"],
    "nano, not clipped": [*NANO, "4", "--clip", "0"],
    "baby": SMALL_BABY,
    "baby, lanes 2": [*SMALL_BABY, "--micro-batch", "1", "--lanes", "2"],
    "gpt2": SMALL_GPT2,
    "gpt2, recompute blocks": [*SMALL_GPT2, "--recompute", "blocks"],
    "nano in a generous line": [*NANO, "4", "--memory", "400MB"],
    "nano in a tight line": [*NANO, "4", "--memory", "33MB"],
    "small in a tight line": ["--small", "10", "--batch", "8", "--memory", "25MB"],
    "tiny, distrust": ["--tiny", "30", "--data", "{samples}", "--distrust-lambda", "1"],
    "tiny, text": ["--tiny", "30", "--data", "{text}", "--tokenizer", "bytes"],
}


def write_data(folder):
    """A sample file with provenance and a text, the same for both programs."""
    words = ["line", "plan", "ship", "water", "load", "mark", "deep", "port", "crew", "tide"]
    text = " ".join(words[(i * i + i // 7) % len(words)] for i in range(20000))
    (folder / "text.txt").write_text(text)
    with open(folder / "samples.jsonl", "w") as out:
        for i in range(400):
            part = text[i * 40:i * 40 + 200].replace('"', "")
            out.write('{"text": "%s", "auth_weight": %.2f, "prov_entropy": %.1f}\n' % (part, (i % 10) / 10, i % 7))
    return {"text": str(folder / "text.txt"), "samples": str(folder / "samples.jsonl")}


def digest(run):
    """One hash for all tensors of the newest checkpoint; the manifest's times and versions do not count."""
    files = sorted(pathlib.Path(run).rglob("*.safetensors"))
    if not files:
        return None
    total = hashlib.sha256()
    for file in files:
        total.update(str(file.relative_to(run)).encode())
        total.update(file.read_bytes())
    return total.hexdigest()[:16]


def train(program, args, out, isa):
    environment = {**os.environ, "PLIMSOLL_ISA": isa} if isa else dict(os.environ)
    command = [program, "train", *args, "--out", str(out), "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace")
    if done.returncode:
        return f"exit {done.returncode}: {done.stderr.strip().splitlines()[-1:]}"
    return digest(out)


def compare(old, new, name, args, isa, data):
    args = [a.format(**data) for a in args]
    with tempfile.TemporaryDirectory(prefix="plimsoll-bits-") as folder:
        return [train(p, args, pathlib.Path(folder) / side, isa) for side, p in (("old", old), ("new", new))]


def main():
    parser = argparse.ArgumentParser(description="compares the checkpoints of two builds byte for byte")
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--only", default="", help="a regular expression that case names must match")
    parser.add_argument("--isa", default="", help="instruction sets, with commas")
    parser.add_argument("--jobs", type=int, default=1)
    own, both = sys.argv[1:], []
    if "--" in own:
        own, both = own[:own.index("--")], own[own.index("--") + 1:]
    options = parser.parse_args(own)
    wanted = [(n, [*a, *both]) for n, a in CASES.items() if re.search(options.only, n)]
    differ = 0
    with tempfile.TemporaryDirectory(prefix="plimsoll-bits-") as folder, \
            concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        data = write_data(pathlib.Path(folder))
        runs = [(isa, name, pool.submit(compare, options.old, options.new, name, args, isa, data))
                for isa in options.isa.split(",") for name, args in wanted]
        for isa, name, run in runs:
            old, new = run.result()
            same = old == new and not str(old).startswith("exit")
            differ += not same
            print(f"{'same  ' if same else 'DIFFER'}  {isa or 'best':7} {name:32} {old}" + ("" if same else f" | {new}"),
                  flush=True)
    print(f"{len(runs) - differ} identical, {differ} differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
