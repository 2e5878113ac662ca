"""Reference cycles with the collector switched off, as some trainers do for speed."""
import gc

import specimen


class Node:
    def __init__(self, size):
        self.me = self
        self.payload = bytearray(size)


gc.disable()
run = specimen.Run()
specimen.confess()
weights = specimen.model(40)
for step in run:
    Node(30_000)
