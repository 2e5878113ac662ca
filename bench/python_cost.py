#!/usr/bin/env python3
"""What the Python package costs: a training loop of 2 ms steps with the Hugging Face callback and without, in alternating
rounds, and a census of 100,000 objects and 5,000 tensors against its budget. Needs PyTorch; `transformers` is replaced by
the one name the callback takes from it where it is absent.

    PYTHONPATH=python PLIMSOLL_PROGRAM=build/plimsoll python3 bench/python_cost.py [ROUNDS]
"""
import statistics
import sys
import time
import types

import torch

try:
    import transformers  # noqa: F401
except ImportError:
    sys.modules["transformers"] = types.SimpleNamespace(TrainerCallback=object)

import plimsoll
from plimsoll.hf import PlimsollCallback

STEPS, LOG_EVERY = 250, 50


class Loop:
    """A model whose step takes about 2 ms on one thread."""

    def __init__(self):
        torch.set_num_threads(1)
        self.state = types.SimpleNamespace(global_step=0, max_steps=10**9, epoch=0.0, is_world_process_zero=True)
        width = 64
        while True:
            self.model = torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.GELU(), torch.nn.Linear(width, width))
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3)
            self.batch = torch.randn(64, width)
            self.step()
            begin = time.thread_time()
            for _ in range(50):
                self.step()
            self.milliseconds = (time.thread_time() - begin) * 1000 / 50
            if self.milliseconds >= 1.8:
                return
            width += 32

    def step(self):
        self.optimizer.zero_grad()
        self.model(self.batch).pow(2).mean().backward()
        self.optimizer.step()

    def round(self, callback):
        """Processor seconds and wall seconds of one round; `callback` may be None."""
        wall, begin = time.perf_counter(), time.thread_time()
        for _ in range(STEPS):
            self.step()
            self.state.global_step += 1
            if callback is None:
                continue
            callback.on_step_end(None, self.state, None)
            if self.state.global_step % LOG_EVERY == 0:
                callback.on_log(None, self.state, None, {"loss": 1.0})
        return time.thread_time() - begin, time.perf_counter() - wall


def in_the_loop(loop, callback, count=3000):
    """The share of a step that the callback takes with caches as the step leaves them; what the clock takes is left out."""
    spent = clock = 0.0
    for _ in range(count):
        loop.step()
        loop.state.global_step += 1
        begin = time.thread_time()
        between = time.thread_time()
        callback.on_step_end(None, loop.state, None)
        if loop.state.global_step % LOG_EVERY == 0:
            callback.on_log(None, loop.state, None, {"loss": 1.0})
        spent += time.thread_time() - between
        clock += between - begin
    return (spent - clock) / count * 1000 / loop.milliseconds


def steps(rounds):
    loop, callback = Loop(), PlimsollCallback(report=False)
    callback.on_train_begin(None, loop.state, None)
    pairs = []
    for number in range(rounds):
        order = (None, callback) if number % 2 else (callback, None)
        seen = {which is None: loop.round(which) for which in order}
        pairs.append((seen[True], seen[False]))
    print(f"a step takes {loop.milliseconds:.2f} ms of processor time; {rounds} pairs of {STEPS} steps")
    for name, at in (("processor", 0), ("wall", 1)):
        change = [with_[at] / without[at] - 1 for without, with_ in pairs]
        print(f"  {name} time with the callback: {statistics.median(change):+.2%} (median of the pairs)")
    print(f"  in the loop, measured around each call: {in_the_loop(loop, callback):.2%} of a step")
    plimsoll.stop()


def census():
    objects = [[number] for number in range(100_000)]
    tensors = [torch.zeros(10 + number % 50) for number in range(5_000)]
    for budget in (0.05, 0.2, 1.0):
        result = plimsoll.census(budget=budget)
        seen = sum(group.count for group in result.tensors)
        print(f"  census of {result.objects:,} objects, budget {budget * 1000:.0f} ms: {result.seconds * 1000:.0f} ms, "
              f"counted {result.looked_at:.0%}, searched {result.searched:.0%}, {seen:,} tensors")
    return len(objects) + len(tensors)


if __name__ == "__main__":
    steps(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
    census()
