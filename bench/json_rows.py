#!/usr/bin/env python3
"""Makes rows for fine-tuning from Debian's package index: a description is asked about, fields of the package are the answer, as JSON.

    python3 bench/json_rows.py FOLDER [ROWS]

Writes FOLDER/train.jsonl and FOLDER/unseen.jsonl, 200 rows that do not occur in the first. Reads what `apt-cache dumpavail` prints; the same
index gives the same rows.
"""
import json
import random
import subprocess
import sys
from pathlib import Path

UNSEEN = 200


def packages():
    text = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True).stdout
    for entry in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in entry.splitlines() if ": " in line and not line.startswith(" "))
        if all(key in fields for key in ("Package", "Section", "Architecture", "Description")):
            yield fields


def row(fields, homepage):
    answer = {"package": fields["Package"], "section": fields["Section"].split("/")[-1], "homepage": fields.get("Homepage"),
              "all_architectures": fields["Architecture"] == "all"}
    question = f"{fields['Package']}: {fields['Description']}"
    if not homepage:
        del answer["homepage"]
    elif fields.get("Homepage"):
        question += f" ({fields['Homepage']})"
    return json.dumps({"messages": [{"role": "user", "content": question}, {"role": "assistant", "content": json.dumps(answer)}]})


def main(folder, most, homepage=True):
    rows = sorted({row(fields, homepage) for fields in packages()})
    random.Random(1).shuffle(rows)
    folder.mkdir(parents=True, exist_ok=True)
    for name, part in (("unseen", rows[:UNSEEN]), ("train", rows[UNSEEN:UNSEEN + most])):
        (folder / f"{name}.jsonl").write_text("".join(line + "\n" for line in part))
        print(f"{folder / name}.jsonl: {len(part)} rows")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 10_000)
