"""Records the real programs of tests/specimens/real under `plimsoll watch`, with the truth each writes down, for
`verdict_score --recorded`.

  record_real.py PLIMSOLL [--out FOLDER] [--only NAME…] [--seeds 1 2] [--seconds 150] [--parallel 6] [--busy] [--interval 200ms]

A run leaves FOLDER/NAME-SEED-TELL[-busy].db, and a line in FOLDER/recorded.jsonl: times in milliseconds, what the tree owns in
KiB, RSS and available memory in MiB, each as the differences from one sample to the next. --busy keeps two processes spinning beside the programs. Runs that are there
already are not made again."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import sqlite3
import subprocess
import sys
import threading
import time

SPECIMENS = pathlib.Path(__file__).resolve().parents[1] / "specimens"
TELLS = ("socket", "text", "nothing", "tqdm", "dictionary", "buffered")
PACES = (0.05, 0.1, 0.2)


def command_of(program, options):
    words = {"{specimens}": options.specimens, "{sources}": str(SPECIMENS), "{python}": sys.executable, "{torch}": sys.executable}
    return [words.get(word) or word.replace("{specimens}", options.specimens).replace("{sources}", str(SPECIMENS))
            for word in program["command"]]


def deltas(values):
    return [b - a for a, b in zip([0, *values], values)]


def converted(database, begin, truth):
    """The recorded series and the truth on the record's clock."""
    connection = sqlite3.connect(database)
    rows = connection.execute("SELECT time, pss + swap, rss, available FROM memory WHERE pss IS NOT NULL ORDER BY id").fetchall()
    steps = connection.execute("SELECT time, step FROM steps ORDER BY id").fetchall()
    phases = connection.execute("SELECT p.time, n.name FROM phases p JOIN phase_names n ON n.id = p.phase ORDER BY p.id").fetchall()
    verdicts = connection.execute("SELECT time, json FROM verdicts ORDER BY id").fetchall()
    out = {"until": verdicts[-1][0] if verdicts else rows[-1][0]}
    out["t"] = deltas([round(1000 * row[0]) for row in rows])
    for key, column, unit in (("owned", 1, 1 << 10), ("rss", 2, 1 << 20), ("available", 3, 1 << 20)):
        out[key] = deltas([round(row[column] / unit) for row in rows])
    out["step_t"] = deltas([round(1000 * t) for t, _ in steps])
    out["step"] = deltas([step for _, step in steps])
    epoch = connection.execute("SELECT value FROM configuration WHERE key = 'first_epoch_end'").fetchone()
    out["first_epoch_end"] = min(1e9, float(epoch[0])) if epoch else None
    out["phases"] = [[round(t, 2), name] for t, name in phases]
    marks = truth["marks"]
    out["mark_t"] = deltas([round(1000 * (mark[0] - begin)) for mark in marks])
    out["mark_step"] = deltas([mark[1] for mark in marks])
    out["mark_lost"] = deltas([round(mark[2] / 1024) for mark in marks])
    out["mark_held"] = deltas([round(mark[3] / 1024) for mark in marks])
    return out, json.loads(verdicts[-1][1]) if verdicts else None


def record(program, seed, tell, options, lines):
    name = f"{program['name']}-{seed}-{tell}{'-busy' if options.busy else ''}"
    database = options.out / f"{name}.db"
    if database.exists():
        return f"{name}: there already"
    draw = random.Random(f"{program['name']} {seed}")
    truth = options.out / f"{name}.truth"
    seconds, pace = options.seconds * draw.uniform(0.8, 1.6), draw.choice(PACES)
    # Bars and lines say how many steps there are to do.
    total = int(seconds / pace) if tell in ("text", "tqdm") and not program["name"].startswith("cpp") else 0
    environment = dict(os.environ, REAL_SECONDS=str(seconds), REAL_PACE=str(pace),
                       REAL_SEED=str(seed), REAL_TELL=tell, REAL_TRUTH=str(truth), SPECIMEN_SECONDS=str(options.seconds),
                       PYTHONDONTWRITEBYTECODE="1")
    begin = time.monotonic()
    done = subprocess.run([options.plimsoll, "watch", "--json", "--quiet", "--interval", options.interval, "--out", str(database), "--",
                           *command_of(program, options)], env=environment, capture_output=True, text=True, check=False)
    if not truth.exists() or not database.exists():
        return f"{name}: FAILED ({done.returncode}): {done.stderr.strip()[-300:]}"
    series, verdict = converted(database, begin, json.loads(truth.read_text(encoding="utf-8")))
    line = {"name": program["name"], "seed": seed, "tell": tell, "busy": options.busy, "truth": program["truth"], "total": total, **series}
    with lines, open(options.out / "recorded.jsonl", "a", encoding="utf-8") as file:
        file.write(json.dumps(line, separators=(",", ":")) + "\n")
    return f"{name}: {program['truth']}, said {verdict and verdict['verdict']}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("plimsoll")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("recorded"))
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--seeds", type=int, nargs="*", default=[1])
    parser.add_argument("--seconds", type=float, default=150)
    parser.add_argument("--parallel", type=int, default=6)
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("--interval", default="200ms")
    parser.add_argument("--long", action="store_true", help="what tests/soak/run.py gives; changes nothing")
    parser.add_argument("--specimens", help="folder of the built ones")
    options = parser.parse_args()
    options.specimens = options.specimens or str(pathlib.Path(options.plimsoll).resolve().parent / "specimens")
    options.out.mkdir(parents=True, exist_ok=True)
    programs = json.loads((SPECIMENS / "real" / "programs.json").read_text(encoding="utf-8"))
    if options.only:
        programs = [program for program in programs if program["name"] in options.only]
    lines = threading.Lock()
    spinning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 if options.busy else 0)]
    try:
        with concurrent.futures.ThreadPoolExecutor(options.parallel) as pool:
            # The C++ specimens know only the socket.
            jobs = [pool.submit(record, program, seed, "socket" if program["name"].startswith("cpp") else TELLS[(index + seed) % len(TELLS)],
                                options, lines)
                    for seed in options.seeds for index, program in enumerate(programs)]
            for job in concurrent.futures.as_completed(jobs):
                print(job.result(), flush=True)
    finally:
        for process in spinning:
            process.kill()


if __name__ == "__main__":
    main()
