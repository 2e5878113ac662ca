"""Twenty loader workers forked from one parent, sharing its data; the thirteenth keeps what it loads."""
import os

import specimen

data = specimen.model(40)
children = []
for number in range(20):
    child = os.fork()
    if child == 0:
        run = specimen.Run(printed=True)
        run.printed = False
        kept = []
        if number == 13:
            specimen.confess()
        for step in run:
            batch = bytearray(40_000)
            if number == 13:
                kept.append(batch)
        os._exit(0)
    children.append(child)
for step in specimen.Run():
    pass
for child in children:
    os.waitpid(child, 0)
