"""Says in words what holds an object: "held by list `losses` of module __main__"."""

from __future__ import annotations

import gc
import inspect
import sys
import time
from types import CellType, FrameType, FunctionType, GeneratorType, ModuleType
from typing import Any, Dict, Iterator, List, Optional, Sequence, Set

_CONTAINERS = (list, tuple, set, frozenset, dict)
_MOST_CONTAINERS = 8
_NAMES = ("variable", "attribute", "class attribute", "local", "closure variable")
NOT_LOOKED = "what holds it was not looked for: the time budget was used up"
NOBODY = "held by nothing Python can see (an autograd graph, C++, or a frame that is running)"


class _Late(Exception):
    """The time budget is used up."""


def held_by(item: Any, ours: Sequence[Any], inside: Any = None, deadline: float = float("inf"), depth: int = 4) -> str:
    """The nearest named holder of `item`. `ours` are the caller's own containers of such items and do not count.

    `inside` is the container it was found in, where the collector does not track that and so cannot name it. The search
    ends at `deadline`, a time of `perf_counter`.
    """
    try:
        skip = {id(ours), *map(id, ours)}
        words = _search(item, skip, depth, deadline)
        if words is None and isinstance(inside, dict):
            words = _name_in_dict(inside, item)  # of an object whose attributes are nothing but numbers, texts and buffers
        if words is None and inside is not None:
            words = _contained(inside, _search(inside, skip, depth, deadline))
    except _Late:
        return NOT_LOOKED
    return f"held by {words}" if words else NOBODY


def _contained(container: Any, outer: Optional[str]) -> str:
    """`losses` of module __main__ has a name; what it contains is held by "list `losses` of module __main__"."""
    if outer is None:
        return type(container).__name__
    kind, tick, rest = outer.partition(" `")
    return f"{type(container).__name__} `{rest}" if tick and kind in _NAMES else f"{type(container).__name__} in {outer}"


def _search(item: Any, skip: Set[int], depth: int, deadline: float) -> Optional[str]:
    if time.perf_counter() > deadline:
        raise _Late
    local = _local_name(item)
    if local:
        return local
    referrers = gc.get_referrers(item)
    skip = skip | {id(referrers)}
    containers: List[Any] = []
    skip.add(id(containers))
    for holder in referrers:
        if id(holder) in skip or _is_ours(holder):
            continue
        named = _name_in(holder, item)
        if named:
            return named
        if isinstance(holder, _CONTAINERS) or type(holder).__name__ == "deque":
            containers.append(holder)
    if depth > 1:
        del containers[_MOST_CONTAINERS:]
        for holder in containers:
            outer = _search(holder, skip, depth - 1, deadline)
            if outer:
                return _contained(holder, outer)
    return type(containers[0]).__name__ if containers else None


def _is_ours(holder: Any) -> bool:
    frame = holder if isinstance(holder, FrameType) else None
    if frame is None and isinstance(holder, GeneratorType):
        frame = holder.gi_frame
    return frame is not None and frame.f_globals.get("__package__") == __package__


def _name_in(holder: Any, item: Any) -> Optional[str]:
    """How `item` is called inside `holder`, where the two make a name."""
    if isinstance(holder, dict):
        return _name_in_dict(holder, item)
    if isinstance(holder, CellType):
        return _closure_name(holder)
    if isinstance(holder, GeneratorType):
        name = _key_of(local_variables(holder.gi_frame), item)
        return f"local `{name}` of generator {holder.__qualname__}" if name else f"generator {holder.__qualname__}"
    if isinstance(holder, FrameType):
        name = _key_of(local_variables(holder), item)
        return f"local `{name}` of {_function(holder)}" if name else None
    if isinstance(holder, (FunctionType, ModuleType, *_CONTAINERS)):
        return None
    try:
        attributes = vars(holder)
    except TypeError:
        return None
    name = _key_of(attributes, item)
    return f"attribute `{name}` of {_owner(holder)}" if name else None


def _name_in_dict(holder: Dict[Any, Any], item: Any) -> Optional[str]:
    key = _key_of(holder, item)
    if not isinstance(key, str):
        return None
    if "__name__" in holder and "__spec__" in holder:
        return f"variable `{key}` of module {holder['__name__']}"
    for owner in gc.get_referrers(holder):
        if isinstance(owner, type) and owner.__dict__.get(key) is item:
            return f"class attribute `{key}` of {owner.__qualname__}"
        if not isinstance(owner, (*_CONTAINERS, FrameType, ModuleType)) and getattr(owner, "__dict__", None) is holder:
            return f"attribute `{key}` of {_owner(owner)}"
    return None


def _closure_name(cell: CellType) -> Optional[str]:
    for function in gc.get_referrers(cell):
        # The closure is a tuple of cells; the function refers to the tuple.
        owners = gc.get_referrers(function) if isinstance(function, tuple) else [function]
        for owner in owners:
            if isinstance(owner, FunctionType) and owner.__closure__ and cell in owner.__closure__:
                name = owner.__code__.co_freevars[owner.__closure__.index(cell)]
                return f"closure variable `{name}` of {owner.__qualname__}"
    return None


def _local_name(item: Any) -> Optional[str]:
    for frame in running_frames():
        if frame.f_globals.get("__package__") == __package__ or not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            continue
        name = _key_of(local_variables(frame), item)
        if name:
            return f"local `{name}` of {_function(frame)}"
    return None


def running_frames() -> Iterator[FrameType]:
    for top in sys._current_frames().values():
        frame: Optional[FrameType] = top
        while frame is not None:
            yield frame
            frame = frame.f_back


def local_variables(frame: Optional[FrameType]) -> Dict[str, Any]:
    """A copy of a frame's locals that leaves none behind in the frame.

    Before Python 3.13 `f_locals` of a function is a dictionary that the frame keeps, and with it everything it names. It
    is emptied again, except while a tracer runs, whose changes to it would be written back.
    """
    if frame is None or (sys.version_info < (3, 13) and sys.gettrace() is not None):
        return {}
    snapshot = frame.f_locals
    copy = dict(snapshot)
    if sys.version_info < (3, 13) and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        snapshot.clear()
    return copy


def _key_of(mapping: Dict[Any, Any], item: Any) -> Any:
    for key, value in list(mapping.items()):
        if value is item:
            return key
    return None


def _function(frame: FrameType) -> str:
    return getattr(frame.f_code, "co_qualname", frame.f_code.co_name)


def _owner(holder: Any) -> str:
    return f"{type(holder).__qualname__} object" if not isinstance(holder, type) else f"class {holder.__qualname__}"
