"""A short-lived child every half second, each with memory of its own."""
import os
import time

import specimen

run = specimen.Run()
weights = specimen.model(40)
for step in run:
    if step % 10 == 0:
        child = os.fork()
        if child == 0:
            own = specimen.model(10)
            time.sleep(0.2)
            os._exit(0)
        os.waitpid(child, 0)
