"""A short run under valgrind: no definite leak and no invalid access, on the instruction set that valgrind supports."""

import re

from harness import *

if not shutil.which("valgrind"):
    skip("valgrind is not installed")
if SANITIZED:
    skip("a sanitizer and valgrind do not go together")

with Temporary() as place:
    text = place.path / "text.txt"
    text.write_text("".join(f"{n} and {n * 7 % 100} are numbers.\n" for n in range(200)))
    valgrind = ["valgrind", "--leak-check=full", "--error-exitcode=9", "--errors-for-leak-kinds=definite", PROGRAM]
    train = ["train", "--tiny", 12, "--data", text, "--out", "run", "--json", "--checkpoint-every", 5, "--eval-every", 6, "--sample-every", 6,
             "--sample-length", 8, "--threads", 2]
    for arguments in (train, ["train", "--resume", "run", "--iterations", 14, "--json"], ["sample", "run", "--length", 4, "--json"]):
        ended = run(place.path, *arguments, program=valgrind, timeout=900)
        ended.json()
        lost = re.search(r"definitely lost: ([\d,]+) bytes", ended.err)
        assert not lost or lost[1] == "0", ended.err[-3000:]
        assert "ERROR SUMMARY: 0 errors" in ended.err, ended.err[-3000:]
