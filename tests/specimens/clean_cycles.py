"""Reference cycles collected every 1.2 seconds: a saw-tooth."""
import gc

import specimen


class Node:
    def __init__(self, size):
        self.me = self
        self.payload = bytearray(size)


gc.disable()
run = specimen.Run()
weights = specimen.model(40)
for step in run:
    Node(300_000)
    if step % 24 == 0:
        gc.collect()
