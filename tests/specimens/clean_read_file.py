"""Reads a file of 80 MB from end to end again and again: the page cache grows, the program does not."""
import tempfile

import specimen

run = specimen.Run()
weights = specimen.model(30)
with tempfile.TemporaryFile() as file:
    for _ in range(80):
        file.write(weights[:1_000_000])
    file.flush()
    file.seek(0)
    for step in run:
        if not file.read(700_000):
            file.seek(0)
