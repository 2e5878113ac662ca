"""What looks like a leak and is none; `no_leak` must pass all of these."""

from __future__ import annotations

import functools
import gc
import io
import itertools
import logging
import re
import threading
from collections import deque
from typing import Any, Deque, Dict, List

import pytest
import torch

model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.Linear(64, 64))
optimizer = torch.optim.Adam(model.parameters())
batch = torch.randn(8, 64)
counter = itertools.count()
pytestmark = pytest.mark.no_leak(calls=40)


def test_a_training_step() -> None:
    optimizer.zero_grad()
    model(batch).pow(2).mean().backward()
    optimizer.step()


def test_accumulation() -> None:
    for _ in range(4):
        model(batch).pow(2).mean().backward()
    optimizer.step()
    optimizer.zero_grad()


def test_evaluation_without_gradients() -> None:
    with torch.no_grad():
        sum(float(model(batch).sum()) for _ in range(3))


losses: Deque[float] = deque(maxlen=10)


def test_numbers_kept_in_a_bounded_log() -> None:
    losses.append(float(model(batch).mean()))


@functools.lru_cache(maxsize=8)
def features(key: int) -> torch.Tensor:
    return torch.randn(512)


def test_a_bounded_cache() -> None:
    features(next(counter))


shapes: Dict[int, torch.Tensor] = {}


def test_one_plan_for_each_of_a_few_shapes() -> None:
    shapes.setdefault(next(counter) % 5, torch.randn(4096))


def test_varying_sizes() -> None:
    torch.randn(1000 + 500 * (next(counter) % 7)).sum()


def test_a_cycle_that_the_collector_finds() -> None:
    loop: List[Any] = [torch.randn(256)]
    loop.append(loop)


def test_hooks_removed() -> None:
    handle = model.register_forward_hook(lambda *_: None)
    model(batch)
    handle.remove()


def test_threads_joined() -> None:
    thread = threading.Thread(target=lambda: torch.randn(1000).sum())
    thread.start()
    thread.join()


def test_files_in_memory_closed() -> None:
    buffer = io.BytesIO()
    torch.save(batch, buffer)
    buffer.close()


def test_a_saw_tooth() -> None:
    pile.append(bytes(10_000))
    if len(pile) == 7:
        pile.clear()


pile: List[bytes] = []


def test_patterns_compiled() -> None:
    re.compile(f"step {next(counter) % 3}")


def test_logging_to_nowhere() -> None:
    logging.getLogger("quiet").debug("%s", batch)


def test_gradients_kept_until_the_next_call() -> None:
    global last
    last = torch.autograd.grad(model(batch).sum(), list(model.parameters()))


last: Any = None


def test_a_buffer_that_is_replaced() -> None:
    model.extra = torch.randn(10_000)  # type: ignore[assignment]


def test_matrix_products() -> None:
    torch.randn(100, 100) @ torch.randn(100, 100)


def test_strings_joined() -> None:
    ",".join(str(i) for i in range(1000))


def test_an_explicit_collection() -> None:
    gc.collect()


def test_a_model_made_and_dropped() -> None:
    torch.nn.Linear(128, 128)(torch.randn(2, 128)).sum().backward()
