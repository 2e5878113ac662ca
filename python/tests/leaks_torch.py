"""The causes of real leaks that fit a unit test, for `no_leak` to find; run by test_no_leak.py in a pytest of its own."""

from __future__ import annotations

import functools
import itertools
import logging
import mmap
from typing import Any, ClassVar, Dict, List

import pytest
import torch

model = torch.nn.Linear(64, 64)
batch = torch.randn(8, 64)
keep: List[Any] = []
total: Any = 0
pytestmark = pytest.mark.no_leak(calls=40)


def test_loss_summed_without_detach() -> None:
    global total
    total = total + model(batch).pow(2).mean()


def test_live_tensors_given_to_a_logger() -> None:
    keep.append({"loss": model(batch).pow(2).mean()})


def test_outputs_kept_for_the_epoch() -> None:
    with torch.no_grad():
        keep.append(model(batch))


class Cached:
    @functools.cache  # noqa: B019
    def features(self, key: int) -> torch.Tensor:
        return torch.randn(512)


counter = itertools.count()


def test_lru_cache_on_a_method() -> None:
    Cached().features(next(counter))


class Dataset:
    cache: ClassVar[Dict[int, torch.Tensor]] = {}

    def __getitem__(self, i: int) -> torch.Tensor:
        return self.cache.setdefault(i, torch.randn(512))


def test_unbounded_cache_in_getitem() -> None:
    Dataset()[next(counter)]


endless = itertools.cycle(torch.randn(1024) for _ in range(10_000))


def test_cycle_keeps_every_batch() -> None:
    next(endless)


def test_hook_handles_pile_up() -> None:
    model.register_forward_hook(lambda *_: None)


def test_backward_hook_that_closes_over_its_output() -> None:
    out = model(batch)
    out.register_hook(lambda g: g + 0 * out.detach())
    keep.append(out.grad_fn)


def test_offload_buffers_without_bound() -> None:
    keep.append(torch.empty(4096).share_memory_() if False else torch.empty(4096))


class Handler(logging.Handler):
    records: ClassVar[List[logging.LogRecord]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


log = logging.getLogger("leaky")
log.propagate = False
log.addHandler(Handler())


def test_a_loggers_internals() -> None:
    log.warning("step %s", torch.randn(256))


def test_gradients_with_create_graph() -> None:
    loss = model(batch).pow(2).mean()
    keep.append(torch.autograd.grad(loss, model.parameters(), create_graph=True))


def test_optimizers_made_anew_and_kept() -> None:
    optimizer = torch.optim.Adam(model.parameters())
    model(batch).sum().backward()
    optimizer.step()
    keep.append(optimizer)


def test_exceptions_kept_with_their_frames() -> None:
    big = torch.randn(1024)
    try:
        raise ValueError(len(big))
    except ValueError as error:
        keep.append(error)


def test_mappings_never_unmapped() -> None:
    area = mmap.mmap(-1, 1 << 20)
    area[:] = b"x" * (1 << 20)
    keep.append(area)


def test_bytes_appended_to_a_global() -> None:
    keep.append(bytes(4096))


def test_small_objects_kept() -> None:
    keep.append(object())
