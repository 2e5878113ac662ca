"""Outputs are appended to a list that is never used."""
import specimen

run = specimen.Run()
specimen.confess()
weights = specimen.model(40)
outputs = []
for step in run:
    outputs.append(bytearray(step % 251 for _ in range(40_000)))
