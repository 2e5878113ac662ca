"""Runs the real programs of tests/specimens/real under `plimsoll profile` and scores what it says: the line, the bytes, the answer,
and how early a leak was called.

  profile_score.py PLIMSOLL [--out FOLDER] [--only NAME…] [--seconds 60] [--seed 1] [--parallel 1] [--score]

A run leaves FOLDER/NAME.json (what profile printed), NAME.db and NAME.truth (what the program lost); runs that are there already
are not made again, and --score makes none at all. The right lines are those the programs mark `# kept by NAME`: the lines that
allocated what is kept. A program that keeps memory from several lines counts the bytes of all of them."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import time
import zlib

SPECIMENS = pathlib.Path(__file__).resolve().parents[1] / "specimens"
TORCH_LEAKS = ("loss_sum log_tensors outputs_kept lru_method getitem_cache getitem_cache_inside cycle_loader hook_handles backward_cycle "
               "offload_buffers logger_history metric_states checkpoints_kept optimisers_kept eval_workers_kept replay_unbounded "
               "images_copied_each_epoch").split()
PYTHON_LEAKS = "events_kept tracebacks_kept decoded_without_bound pool_keeps_results library_never_frees cycles_uncollected".split()
NATIVE_LEAKS = "leak_steady leak_under_noise leak_mapping".split()
# The answers that are right for programs without a leak.
CLEAN = {"torch_plain": ["no-leak"], "torch_validation_spikes": ["no-leak"], "torch_varying_sizes": ["filling", "no-leak", "retained"],
         "torch_workers_anew": ["no-leak"], "torch_images_by_epoch": ["no-leak"], "torch_images_first_epoch": ["filling"],
         "torch_shape_plans": ["filling", "no-leak"], "torch_copied_on_write": ["no-leak", "filling"], "torch_replay_bounded": ["no-leak"],
         "torch_epoch_outputs_cleared": ["no-leak"], "python_mapped_file": ["no-leak"], "python_fragmentation": ["no-leak", "retained"],
         "python_retained": ["retained"], "native_clean_fragmentation": ["no-leak", "retained"]}
SAMPLES = 20  # a leak of fewer is not scored
RATE = 512 << 10


def sources_of(name):
    kind, _, loop = name.partition("_")
    if kind == "native":
        return None, loop
    return SPECIMENS / "real" / f"{kind}_loops.py", loop


def command_of(name, options):
    source, loop = sources_of(name)
    return [f"{options.specimens}/{loop}"] if source is None else [sys.executable, str(source), loop]


def expected_steps(name, options):
    return options.seconds / (0.05 if name.startswith("native") else options.pace)


def right_lines(name):
    """(file, line) of every line that allocates what the program keeps."""
    source, loop = sources_of(name)
    if source is None:
        header = SPECIMENS / "specimen.hpp"
        files, wanted = [header, SPECIMENS / f"{loop}.cpp"], r"// kept"
    else:
        files, wanted = [source], rf"# .*kept by .*\b{loop}\b"
    return {(file.name, number) for file in files
            for number, line in enumerate(file.read_text(encoding="utf-8").split("\n"), 1) if re.search(wanted, line)}


def run(name, options):
    report, database, truth = (options.out / f"{name}.{end}" for end in ("json", "db", "truth"))
    if report.exists():
        return
    database.unlink(missing_ok=True)
    environment = dict(os.environ, REAL_SECONDS=str(options.seconds), REAL_PACE=str(options.pace), REAL_SEED=str(zlib.crc32(name.encode()) + options.seed),
                       REAL_TELL="socket", REAL_EPOCHS="4", REAL_BY="steps", REAL_TRUTH=str(truth), SPECIMEN_SECONDS=str(options.seconds), SPECIMEN_EPOCHS="4",
                       PYTHONDONTWRITEBYTECODE="1")
    began = time.monotonic()
    done = subprocess.run(["nice", options.plimsoll, "profile", "--json", "--interval", options.interval, "--out", str(database), "--",
                           *command_of(name, options)], env=environment, capture_output=True, text=True, check=False)
    (options.out / f"{name}.txt").write_text(done.stderr, encoding="utf-8")
    try:
        said = json.loads(done.stdout.rstrip("\n").split("\n")[-1])
    except ValueError:
        print(f"{name}: no report ({done.returncode}): {done.stderr[-300:]}", flush=True)
        return
    said["run_seconds"], said["began"] = time.monotonic() - began, began
    report.write_text(json.dumps(said), encoding="utf-8")


def step_at(time, marks):
    """How many steps the program had done, by its own marks."""
    for before, after in zip(marks, marks[1:]):
        if time <= after[0]:
            part = (time - before[0]) / (after[0] - before[0])
            return before[1] + max(0.0, part) * (after[1] - before[1])
    return marks[-1][1]


def score(name, options):
    """What was right about a run: {} where it was not made."""
    report, database, truth = (options.out / f"{name}.{end}" for end in ("json", "db", "truth"))
    if not report.exists() or not truth.exists():
        return {}
    said = json.loads(report.read_text(encoding="utf-8"))
    marks = json.loads(truth.read_text(encoding="utf-8"))["marks"]
    lost, lines = marks[-1][2], right_lines(name)
    sites = said["sites"]
    first = sites[0] if sites else None
    place = (pathlib.Path(first["file"]).name, first["line"]) if first else None
    events = sqlite3.connect(database).execute("SELECT time, text FROM events WHERE kind = 'leak' ORDER BY id").fetchall()
    out = {"answer": said["answer"], "verdict": said["verdict"], "place": place, "accused": [s for s in sites if s["verdict"] == "leak"],
           "event": events[0] if events else None, "samples": lost / RATE, "finished": marks[-1][1] >= 0.97 * expected_steps(name, options)}
    if name in CLEAN:
        out["right_answer"] = said["answer"] in CLEAN[name]
        out["quiet"] = said["answer"] != "leak" and not any(
            not re.match(r"(filling|retained|no-leak):", text) for _, text in events)
        return out
    held = sum(s["grown_bytes"] for s in sites if (pathlib.Path(s["file"]).name, s["line"]) in lines)
    out.update(right_answer=said["answer"] == "leak", right_line=place in lines, bytes_ratio=held / lost if lost else None)
    # Early: before a third of the program's own steps are over, and with a right line.
    called = [step_at(when + said["began"], marks) / marks[-1][1] for when, text in events
              if not re.match(r"(filling|retained|no-leak):", text) and any(f"{file}:{line} " in text for file, line in lines)]
    out["called"] = called[0] if called else None
    return out


def table(names, options):
    rows = {name: result for name in names if (result := score(name, options))}
    leaks = {name: row for name, row in rows.items() if name not in CLEAN}
    for name in [name for name, row in rows.items() if not row["finished"]]:
        print(f"{name:34} left out: the machine was too busy for it to finish its steps")
        rows.pop(name), leaks.pop(name, None)
    for name, row in rows.items():
        at = f"{row['place'][0]}:{row['place'][1]}" if row["place"] else "-"
        if name in CLEAN:
            print(f"{name:34} answer {row['answer']:9} {'right' if row['right_answer'] else 'WRONG':5} {'' if row['quiet'] else 'ACCUSED'} {at}")
            continue
        ratio = f"{row['bytes_ratio']:.2f}" if row["bytes_ratio"] is not None else "-"
        called = f"{row['called']:.2f}" if row["called"] is not None else "never"
        print(f"{name:34} answer {row['answer']:9} {'right' if row['right_answer'] else 'WRONG':5} line {'right' if row['right_line'] else 'WRONG'} "
              f"{at:24} bytes {ratio:5} ({row['samples']:.0f} samples) called at {called}")
    scored = {name: row for name, row in leaks.items() if row["samples"] >= SAMPLES}
    clean = {name: row for name, row in rows.items() if name in CLEAN}
    count = lambda rows, test: f"{sum(1 for row in rows.values() if test(row))} of {len(rows)}"
    print(f"right line first: {count(scored, lambda r: r['right_line'])} leaks of at least {SAMPLES} samples")
    print(f"bytes within 25 %: {count(scored, lambda r: r['bytes_ratio'] and abs(r['bytes_ratio'] - 1) <= 0.25)}")
    print(f"right answer: {count(leaks, lambda r: r['right_answer'])} leaks, {count(clean, lambda r: r['right_answer'])} clean programs")
    print(f"not accused: {count(clean, lambda r: r['quiet'])} clean programs")
    print(f"called with a right line within a third of the run: {count(leaks, lambda r: r['called'] is not None and r['called'] <= 1 / 3)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plimsoll")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("profiled"))
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--pace", type=float, default=0.15)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--interval", default="250ms")
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--score", action="store_true", help="score the runs that are there, make none")
    parser.add_argument("--long", action="store_true", help="what tests/soak/run.py gives; changes nothing")
    options = parser.parse_args()
    options.specimens = str(pathlib.Path(options.plimsoll).resolve().parent / "specimens")
    options.out.mkdir(parents=True, exist_ok=True)
    names = [*(f"torch_{n}" for n in TORCH_LEAKS), *(f"python_{n}" for n in PYTHON_LEAKS), *(f"native_{n}" for n in NATIVE_LEAKS), *CLEAN]
    names = [name for name in names if not options.only or name in options.only]
    if not options.score:
        with concurrent.futures.ThreadPoolExecutor(options.parallel) as pool:
            list(pool.map(lambda name: run(name, options), names))
    table(names, options)


if __name__ == "__main__":
    main()
