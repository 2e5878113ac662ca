#!/usr/bin/env python3
"""Makes a set of 1,794 emoji with their names out of Debian's package ruby-gemojione: train.jsonl, held-out.jsonl and pictures/.

    apt-get install ruby-gemojione
    scripts/emoji-set.py emoji/
    plimsoll train --vision tiny --data emoji/train.jsonl

One name in eight is held out, with all of its skin tones, so that no picture of the second file differs from one of the first in colour
alone.
"""
import glob
import json
import pathlib
import re
import shutil
import sys
import zlib

PACKAGE = "/usr/share/rubygems-integration/all/gems/gemojione-*"


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__.strip())
    found = glob.glob(PACKAGE)
    if not found:
        sys.exit("emoji-set: install the Debian package ruby-gemojione first")
    source, out = pathlib.Path(found[-1]), pathlib.Path(sys.argv[1])
    if out.exists() and any(out.iterdir()):
        sys.exit(f"emoji-set: {out} is not empty; name a new folder")
    (out / "pictures").mkdir(parents=True)
    rows = {"train": [], "held-out": []}
    for emoji in json.loads((source / "config/index.json").read_text()).values():
        picture = source / "assets/png" / f"{emoji['unicode'].upper()}.png"
        if not picture.exists():
            continue
        shutil.copy(picture, out / "pictures" / picture.name)
        base = re.sub(r"[ :-]*tone ?\d", "", emoji["name"])
        part = "held-out" if zlib.crc32(base.encode()) % 8 == 0 else "train"
        rows[part].append({"image": f"pictures/{picture.name}", "text": "What is this?", "response": emoji["name"]})
    for part, lines in rows.items():
        (out / f"{part}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        print(f"{out}/{part}.jsonl: {len(lines)} rows")


if __name__ == "__main__":
    main()
