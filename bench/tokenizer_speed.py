#!/usr/bin/env python3
"""MB a second of `plimsoll tokenize` and of Hugging Face's `tokenizers` on one thread, in alternating rounds.

    python3 bench/tokenizer_speed.py TOKENIZER.json TEXT [ROUNDS]

Both read the text whole and are timed without reading it or the tokenizer. Needs the `tokenizers` package.
"""
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
from tokenizers import Tokenizer  # noqa: E402

PROGRAM = os.environ.get("PLIMSOLL_PROGRAM", str(Path(__file__).resolve().parents[1] / "build" / "plimsoll"))


def ours(model, text):
    done = subprocess.run([PROGRAM, "tokenize", "--model", model, text, "--count", "--json"], capture_output=True, text=True, check=True)
    figures = json.loads(done.stdout)
    return figures["tokens"], figures["bytes"] / figures["seconds"] / 1e6


def main():
    model, path, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 5
    tokenizer, data = Tokenizer.from_file(model), Path(path).read_bytes()
    text, speeds = data.decode(), {"plimsoll": [], "tokenizers, whole": [], "tokenizers, by line": []}
    lines = text.splitlines(keepends=True)
    for _ in range(rounds):
        count, speed = ours(model, path)
        speeds["plimsoll"].append(speed)
        begin = time.perf_counter()
        theirs = len(tokenizer.encode(text, add_special_tokens=False).ids)
        speeds["tokenizers, whole"].append(len(data) / (time.perf_counter() - begin) / 1e6)
        assert count == theirs, f"{count} tokens here, {theirs} there"
        # Its favourite form: many short texts, whose words it keeps.
        begin = time.perf_counter()
        tokenizer.encode_batch(lines, add_special_tokens=False)
        speeds["tokenizers, by line"].append(len(data) / (time.perf_counter() - begin) / 1e6)
    for name, found in speeds.items():
        print(f"{name:20} {statistics.median(found):7.2f} MB/s  ({min(found):.2f} to {max(found):.2f} over {rounds} rounds)")
    best = max(statistics.median(speeds[name]) for name in speeds if name != "plimsoll")
    print(f"{'ratio':20} {statistics.median(speeds['plimsoll']) / best:7.2f}")


if __name__ == "__main__":
    main()
