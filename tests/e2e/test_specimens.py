"""Watches every specimen of tests/specimens and compares verdict and culprit with the truth.

  test_specimens.py PLIMSOLL [--seconds 18] [--parallel 8] [--only NAME…] [--table]

An undecided answer says that more time is needed, on a busy machine more of it: that specimen is watched again for twice and then for
four times as long. A wrong answer gets no second chance. --table prints the Markdown table of docs/specimens.md. PyTorch specimens are skipped by name where no Python with
torch is found (PLIMSOLL_TORCH_PYTHON names one)."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCES = pathlib.Path(__file__).resolve().parent.parent / "specimens"


def find_torch():
    for python in filter(None, [os.environ.get("PLIMSOLL_TORCH_PYTHON"), sys.executable]):
        if subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode == 0:
            return python
    return None


def watch(plimsoll, specimen, seconds, options, torch):
    words = {"{specimens}": options.specimens, "{sources}": str(SOURCES), "{python}": sys.executable, "{torch}": torch or ""}
    command = []
    for word in specimen["command"]:
        for name, value in words.items():
            word = word.replace(name, value)
        command.append(word)
    with tempfile.TemporaryDirectory() as folder:
        confession = os.path.join(folder, "culprit")
        environment = dict(os.environ, SPECIMEN_SECONDS=str(seconds), SPECIMEN_CULPRIT=confession,
                           PYTHONDONTWRITEBYTECODE="1")
        record = ["--out", os.path.join(options.records, f"{specimen['name']}-{seconds:g}s.db")] if options.records else []
        done = subprocess.run([plimsoll, "watch", "--json", "--interval", "100ms", *record, "--", *command],
                              env=environment, capture_output=True, text=True, check=False,
                              timeout=seconds * 10 + 120)
        truth_pid = int(open(confession, encoding="utf-8").read()) if os.path.exists(confession) else None
    try:
        answer = json.loads(done.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        return None, truth_pid, f"no JSON (code {done.returncode}): {done.stderr.strip()[-300:]}"
    return answer, truth_pid, None


def watch_until_decided(plimsoll, specimen, options, torch):
    seconds = options.seconds * specimen.get("length", 1)
    result = watch(plimsoll, specimen, seconds, options, torch)
    for _ in range(2):
        if not result[0] or result[0]["verdict"] != "undecided":
            break
        seconds *= 2
        result = watch(plimsoll, specimen, seconds, options, torch)
    return *result, seconds


def judge(specimen, answer, truth_pid, trouble):
    """What is wrong, or an empty string."""
    if trouble:
        return trouble
    if answer["verdict"] != specimen["truth"]:
        return f"said {answer['verdict']}"
    if specimen["truth"] == "leak":
        culprit = answer["culprit"]
        if not culprit or culprit["pid"] != truth_pid:
            return f"blamed {culprit}, the leak is in {truth_pid}"
    return ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("plimsoll")
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("SPECIMEN_SECONDS", "18")))
    parser.add_argument("--parallel", type=int, default=8)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--records", help="keep every run file in this folder")
    parser.add_argument("--save", help="write every answer to this file as JSON")
    parser.add_argument("--specimens", default=os.environ.get("PLIMSOLL_SPECIMENS"), help="folder of the built ones")
    options = parser.parse_args()
    options.specimens = options.specimens or str(pathlib.Path(options.plimsoll).resolve().parent / "specimens")
    if subprocess.run([options.plimsoll, "watch", "--help"], capture_output=True, check=False).returncode != 0:
        print("this plimsoll cannot watch: skipped")
        return 77
    torch = find_torch()
    specimens = []
    for specimen in json.loads((SOURCES / "truth.json").read_text(encoding="utf-8")):
        if options.only and specimen["name"] not in options.only:
            continue
        if specimen.get("needs") == "torch" and not torch:
            print(f"skipped {specimen['name']}: no Python with torch")
            continue
        specimens.append(specimen)

    wrong, answers = 0, {}
    with concurrent.futures.ThreadPoolExecutor(options.parallel) as pool:
        jobs = [pool.submit(watch_until_decided, options.plimsoll, specimen, options, torch) for specimen in specimens]
        for specimen, job in zip(specimens, jobs):
            answer, truth_pid, trouble, seconds = job.result()
            problem = judge(specimen, answer, truth_pid, trouble)
            wrong += bool(problem)
            answers[specimen["name"]] = answer
            if options.table:
                rate = (answer or {}).get("rate_bytes_per_second") or 0
                print(f"| {specimen['name']} | {specimen['what']} | {specimen['truth']} | {(answer or {}).get('verdict')} |"
                      f" {f'{rate / 1e6:.2f} MB/s' if specimen['truth'] == 'leak' else '–'} | {seconds:g} s | {specimen['culprit'] or '–'} | {'right' if not problem else problem} |")
            else:
                sentence = (answer or {}).get("sentence", "")
                print(f"{'WRONG' if problem else 'right'} {specimen['name']}: {problem or specimen['truth']} after {seconds:g} s — {sentence}",
                      flush=True)
    if options.save:
        pathlib.Path(options.save).write_text(json.dumps(answers, indent=1), encoding="utf-8")
    print(f"{len(specimens) - wrong} of {len(specimens)} judged right")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
