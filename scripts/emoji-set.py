#!/usr/bin/env python3
"""Makes a set of 1,794 emoji with their names out of Debian's package ruby-gemojione: train.jsonl, held-out.jsonl and pictures/.

    apt-get install ruby-gemojione
    scripts/emoji-set.py emoji/
    plimsoll train --vision tiny --data emoji/train.jsonl

One name in eight is held out, with all of its skin tones, so that no picture of the second file differs from one of the first in colour
alone. Each picture of the first file comes with seven variants, turned by up to 12 degrees, scaled by 0.8 to 1.15 and moved by up to 4
pixels, so that what is learned is not the pixels of one picture; that needs Pillow. --plain leaves them out.
"""
import argparse
import glob
import json
import pathlib
import random
import re
import shutil
import sys
import zlib

PACKAGE = "/usr/share/rubygems-integration/all/gems/gemojione-*"


VARIANTS, EDGE, ROOM = 7, 64, 16  # a picture lies in the middle of ROOM pixels of white on each side


def base_name(name):
    return re.sub(r"[ :-]*tone ?\d", "", name)


def variants(path, rng):
    """Writes them beside the picture and returns their names."""
    from PIL import Image
    with Image.open(path) as opened:
        sheet = Image.new("RGBA", (EDGE + 2 * ROOM,) * 2, "white")
        sheet.alpha_composite(opened.convert("RGBA").resize((EDGE, EDGE)), (ROOM, ROOM))
    names, middle = [], EDGE / 2 + ROOM
    for i in range(VARIANTS):
        turned = sheet.rotate(rng.uniform(-12, 12), Image.Resampling.BICUBIC, fillcolor="white").convert("RGB")
        half, x, y = EDGE / 2 / rng.uniform(0.8, 1.15), *(middle + rng.uniform(-4, 4) for _ in range(2))
        box = [min(max(edge, 0), EDGE + 2 * ROOM) for edge in (x - half, y - half, x + half, y + half)]
        names.append(f"{path.stem}-{i}.png")
        turned.resize((EDGE, EDGE), Image.Resampling.BICUBIC, box).save(path.with_name(names[-1]))
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="a new folder")
    parser.add_argument("--plain", action="store_true", help="without variants")
    options = parser.parse_args()
    found, out = glob.glob(PACKAGE), options.folder
    if not found:
        sys.exit("emoji-set: install the Debian package ruby-gemojione first")
    if out.exists() and any(out.iterdir()):
        sys.exit(f"emoji-set: {out} is not empty; name a new folder")
    source, rng = pathlib.Path(found[-1]), random.Random(1)
    (out / "pictures").mkdir(parents=True)
    rows = {"train": [], "held-out": []}
    for emoji in json.loads((source / "config/index.json").read_text()).values():
        picture = source / "assets/png" / f"{emoji['unicode'].upper()}.png"
        if not picture.exists():
            continue
        copy = pathlib.Path(shutil.copy(picture, out / "pictures" / picture.name))
        part = "held-out" if zlib.crc32(base_name(emoji["name"]).encode()) % 8 == 0 else "train"
        names = [copy.name] + (variants(copy, rng) if part == "train" and not options.plain else [])
        rows[part] += [{"image": f"pictures/{name}", "text": "What is this?", "response": emoji["name"]} for name in names]
    for part, lines in rows.items():
        (out / f"{part}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        print(f"{out}/{part}.jsonl: {len(lines)} rows")


if __name__ == "__main__":
    main()
