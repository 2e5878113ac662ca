"""Known objects, and what holds them."""

from __future__ import annotations

import gc
import json
import sys
import weakref
from collections import deque
from typing import Any, Callable, Dict, Iterator, List

import pytest

import plimsoll

SIZE = 3_000_000
kept: List[Any] = []


def holder_of(nbytes: int) -> str:
    """What the census says holds the one object of that size."""
    result = plimsoll.census(budget=20, largest=20)
    found = [large.held_by for large in result.largest if abs(large.bytes - nbytes) < 100]
    assert len(found) == 1, result
    return found[0]


@pytest.fixture(autouse=True)
def empty() -> Iterator[None]:
    yield
    kept.clear()
    globals().pop("alone", None)
    gc.collect()


def test_a_list_of_a_module() -> None:
    kept.append(bytearray(SIZE + 1000))
    assert holder_of(SIZE + 1000) == f"held by list `kept` of module {__name__}"


def test_a_variable_of_a_module() -> None:
    globals()["alone"] = bytearray(SIZE + 2000)
    assert holder_of(SIZE + 2000) == f"held by variable `alone` of module {__name__}"


def test_a_dictionary_in_an_attribute() -> None:
    class Net:
        def __init__(self) -> None:
            self.cache = {"x": bytearray(SIZE + 3000)}

    net = Net()
    assert holder_of(SIZE + 3000).startswith("held by dict `cache` of ") and net
    assert "Net object" in holder_of(SIZE + 3000)


def test_an_attribute() -> None:
    class Net:
        pass

    net = Net()
    net.weight = bytearray(SIZE + 4000)  # type: ignore[attr-defined]
    assert "held by attribute `weight` of " in holder_of(SIZE + 4000)


def test_a_closure() -> None:
    def make() -> Callable[[], int]:
        hidden = bytearray(SIZE + 5000)
        return lambda: len(hidden)

    function = make()
    assert holder_of(SIZE + 5000).startswith("held by closure variable `hidden` of ") and function


def test_a_generator() -> None:
    def produce() -> Iterator[int]:
        mine = bytearray(SIZE + 6000)
        yield 1
        yield len(mine)

    generator = produce()
    next(generator)
    assert "local `mine` of " in holder_of(SIZE + 6000) and "produce" in holder_of(SIZE + 6000)


def test_a_local_variable_of_a_running_function() -> None:
    here = bytearray(SIZE + 7000)
    assert "local `here` of " in holder_of(SIZE + 7000) and here


def test_a_deque() -> None:
    kept.append(deque([bytearray(SIZE + 8000)]))
    assert holder_of(SIZE + 8000) == f"held by deque in list `kept` of module {__name__}"


def test_what_was_freed_is_not_there_and_nothing_is_kept_alive() -> None:
    class Thing:
        pass

    thing = Thing()
    thing.data = bytearray(SIZE + 9000)  # type: ignore[attr-defined]
    ghost = weakref.ref(thing)
    plimsoll.census(budget=20)
    del thing
    gc.collect()
    assert ghost() is None
    assert all(abs(large.bytes - SIZE - 9000) > 100 for large in plimsoll.census(budget=20, largest=50).largest)


def test_a_local_is_not_kept_alive_by_the_search() -> None:
    """Before Python 3.13 reading a frame's locals leaves a copy in the frame."""

    class Thing:
        def __init__(self) -> None:
            self.data = bytearray(SIZE + 10000)

    thing = Thing()
    ghost = weakref.ref(thing)
    plimsoll.census(budget=20)
    thing = None  # type: ignore[assignment]
    gc.collect()
    assert ghost() is None


def test_growth_between_two() -> None:
    class Grown:
        pass

    plimsoll.census(budget=20)
    kept.extend(Grown() for _ in range(321))
    rows = [g for g in plimsoll.census(budget=20).grown if g.type.endswith("Grown")]
    assert len(rows) == 1 and rows[0].more == 321


def test_the_budget_is_kept_and_said() -> None:
    kept.extend([[i] for i in range(200_000)])
    result = plimsoll.census(budget=0.0)
    assert result.looked_at < 1 and "time budget" in str(result)
    assert result.objects > 200_000


def test_json() -> None:
    kept.append(bytearray(SIZE))
    fields = json.loads(json.dumps(plimsoll.census(budget=20).as_dict()))
    assert fields["buffers"]["bytes"] >= SIZE and fields["looked_at"] == 1


def test_arrays_and_views() -> None:
    numpy = pytest.importorskip("numpy")
    before = plimsoll.census(budget=20).array_bytes
    array = numpy.zeros(1_000_000)
    kept.extend([array, array[10:], array.reshape(1000, 1000)])
    after = plimsoll.census(budget=20)
    assert after.array_bytes - before == 8_000_000  # views own nothing


class TestTensors:
    @pytest.fixture(autouse=True)
    def torch(self) -> Any:
        return pytest.importorskip("torch")

    def test_by_shape_and_storage(self, torch: Any) -> None:
        whole = torch.zeros(100, 1000)
        kept.extend([whole, whole[10:], whole.view(1000, 100), torch.ones(7, 11, requires_grad=True)])
        result = plimsoll.census(budget=20)
        rows = {(t.shape, t.requires_grad): t for t in result.tensors}
        shared = [rows[shape, False] for shape in ((100, 1000), (90, 1000), (1000, 100))]
        assert sum(t.bytes for t in shared) == 400_000 and all(t.count == 1 for t in shared)
        assert rows[(7, 11), True].bytes == 308 and not rows[(7, 11), True].has_graph

    def test_a_graph_is_seen(self, torch: Any) -> None:
        weight = torch.ones(13, 17, requires_grad=True)
        kept.append((weight * 2).sum(dim=0))
        rows = [t for t in plimsoll.census(budget=20).tensors if t.shape == (17,)]
        assert rows and rows[0].has_graph

    def test_a_freed_one_is_not_there(self, torch: Any) -> None:
        tensor = torch.zeros(123, 457)
        assert any(t.shape == (123, 457) for t in plimsoll.census(budget=20).tensors)
        del tensor
        assert not any(t.shape == (123, 457) for t in plimsoll.census(budget=20).tensors)

    def test_what_holds_it(self, torch: Any) -> None:
        kept.append(torch.zeros(1_234_567))
        assert holder_of(4 * 1_234_567) == f"held by list `kept` of module {__name__}"


def test_a_tracer_keeps_its_locals() -> None:
    """With a tracer a frame's copy of its locals is written back, so it must not be touched."""
    sys.settrace(lambda *_: None)
    try:
        here = bytearray(SIZE)
        plimsoll.census(budget=20)
        assert len(here) == SIZE
    finally:
        sys.settrace(None)


def test_no_collection_runs_meanwhile() -> None:
    """A full collection of a large heap takes longer than any budget."""
    many = [[number] for number in range(50_000)]
    seen: List[str] = []

    def collected(phase: str, info: Dict[str, int]) -> None:
        seen.append(phase)

    before = gc.get_threshold()
    gc.collect()
    gc.callbacks.append(collected)
    gc.set_threshold(10, 1, 1)
    try:
        seen.clear()
        result = plimsoll.census(budget=5)
        during = list(seen)
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(collected)
    assert result.objects > len(many)
    assert not during or during == ["start", "stop"]  # at most one, once it is over
    assert gc.isenabled()


def test_collection_stays_off_where_it_was() -> None:
    gc.disable()
    try:
        plimsoll.census()
        assert not gc.isenabled()
    finally:
        gc.enable()
