"""What lives in this process: tensors, arrays, images and objects by type, what grew since the last census, and what
holds the largest.

A census looks through the garbage collector's lists and keeps nothing of what it saw alive. It stops when its time
budget is used up and says so. It never runs inside an allocation: only when called, or at a step when asked for from
outside.
"""

from __future__ import annotations

import bisect
import gc
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import compress
from typing import Any, Dict, Iterable, List, Optional, Set, Tuple

from ._holders import held_by, local_variables, running_frames

DEFAULT_BUDGET = 0.05
_CHUNK = 256
_LARGE = 16 * 1024  # bytes and bytearrays below this are counted by nobody
_last_types: Dict[str, int] = {}


@dataclass(frozen=True)
class TensorGroup:
    """Tensors that are alike. `bytes` counts a storage that several of them share once, with the first group met."""

    device: str
    dtype: str
    shape: Tuple[int, ...]
    requires_grad: bool
    has_graph: bool
    count: int
    bytes: int


@dataclass(frozen=True)
class Large:
    """One large object and, in words, what holds it."""

    kind: str
    bytes: int
    held_by: str


@dataclass(frozen=True)
class Growth:
    """A type of which there are more objects than at the last census."""

    type: str
    count: int
    more: int


@dataclass
class Census:
    """The result; `str()` of it is a table for people, `as_dict()` is for JSON."""

    tensors: List[TensorGroup] = field(default_factory=list)
    tensor_bytes: int = 0
    arrays: int = 0
    array_bytes: int = 0
    images: int = 0
    image_bytes: int = 0
    frames: int = 0
    frame_bytes: int = 0
    buffers: int = 0
    buffer_bytes: int = 0
    objects: int = 0
    types: List[Tuple[str, int]] = field(default_factory=list)
    grown: List[Growth] = field(default_factory=list)
    largest: List[Large] = field(default_factory=list)
    cuda: Dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    looked_at: float = 1.0  # share of the objects that the budget allowed to count
    searched: float = 1.0  # share of them that it allowed to search for arrays and buffers

    def as_dict(self, most: int = 100) -> Dict[str, Any]:
        """Plain values, at most `most` rows of each table."""
        return {
            "tensor_bytes": self.tensor_bytes,
            "tensors": [{**t.__dict__, "shape": list(t.shape)} for t in self.tensors[:most]],
            "arrays": {"count": self.arrays, "bytes": self.array_bytes},
            "images": {"count": self.images, "bytes": self.image_bytes},
            "data_frames": {"count": self.frames, "bytes": self.frame_bytes},
            "buffers": {"count": self.buffers, "bytes": self.buffer_bytes},
            "objects": self.objects,
            "types": [{"type": name, "count": count} for name, count in self.types[:most]],
            "grown": [g.__dict__ for g in self.grown[:most]],
            "largest": [large.__dict__ for large in self.largest[:most]],
            "cuda": self.cuda,
            "seconds": self.seconds,
            "looked_at": self.looked_at,
            "searched": self.searched,
        }

    def __str__(self) -> str:
        lines = [f"{self.objects:,} objects, {size(self.tensor_bytes)} in tensors ({self.seconds * 1000:.0f} ms)"]
        if self.looked_at < 1:
            lines.append(f"  the time budget allowed for {self.looked_at:.0%} of them; give census(budget=…) more seconds")
        elif self.searched < 1:
            lines.append(
                f"  arrays and buffers: the time budget allowed to search {self.searched:.0%} of the objects for them"
            )
        for tensor in self.tensors[:10]:
            marks = (", requires grad" if tensor.requires_grad else "") + (", has a graph" if tensor.has_graph else "")
            lines.append(
                f"  {size(tensor.bytes):>9}  {tensor.count:>6} x {list(tensor.shape)} {tensor.dtype} {tensor.device}{marks}"
            )
        others = (
            ("NumPy arrays", self.arrays, self.array_bytes),
            ("PIL images", self.images, self.image_bytes),
            ("pandas frames", self.frames, self.frame_bytes),
            ("bytes and bytearrays", self.buffers, self.buffer_bytes),
        )
        lines += [f"  {size(total):>9}  {count:>6} {name}" for name, count, total in others if count]
        lines += [f"  largest: {large.kind}, {size(large.bytes)}, {large.held_by}" for large in self.largest]
        lines += [f"  grown: {g.type} by {g.more:,} to {g.count:,}" for g in self.grown[:10]]
        return "\n".join(lines)


def size(count: float) -> str:
    """Bytes for people: 1.50 MB."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.3g} {unit}" if unit != "B" else f"{int(count)} B"
        count /= 1000
    return ""


def census(budget: float = DEFAULT_BUDGET, largest: int = 5) -> Census:
    """Counts what lives, within `budget` seconds; names what holds the `largest` objects.

    Growth is relative to the previous call. Tensors that only the autograd graph or C++ holds have no Python object and
    are not seen.
    """
    collecting = gc.isenabled()
    gc.disable()  # our own lists would set off a full collection, which knows no budget
    try:
        return _take_census(budget, largest)
    finally:
        if collecting:
            gc.enable()


def _take_census(budget: float, largest: int) -> Census:
    begin = time.perf_counter()
    result = Census(cuda=_cuda())
    found = _Largest(largest)
    objects = gc.get_objects()
    listed = time.perf_counter() - begin
    deadline = begin + budget - listed / 2  # letting go of the list takes its time as well
    result.objects = len(objects)
    kinds = _count_tracked(result, objects, found, deadline)
    _count_untracked(result, objects, kinds, found, deadline)
    del objects
    while found.items:
        nbytes, item = found.sizes.pop(), found.items.pop()
        words = held_by(item, (found.items, found.inside), found.inside.get(id(item)), deadline)
        result.largest.append(Large(_describe(item), nbytes, words))
        del item
    result.seconds = time.perf_counter() - begin
    return result


class _Largest:
    """The largest objects met so far, smallest first. The list of items is the only thing of ours that refers to them."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.sizes: List[int] = []
        self.items: List[Any] = []
        self.inside: Dict[int, Any] = {}  # by id, the untracked container an item was found in

    def offer(self, nbytes: int, item: Any, container: Any = None) -> None:
        if nbytes < _LARGE or (len(self.sizes) == self.most and (not self.sizes or nbytes <= self.sizes[0])):
            return
        at = bisect.bisect(self.sizes, nbytes)
        self.sizes.insert(at, nbytes)
        self.items.insert(at, item)
        if container is not None:
            self.inside[id(item)] = container
        if len(self.sizes) > self.most:
            del self.sizes[0], self.items[0]


_TensorKey = Tuple[Any, Any, Any, bool, bool]  # device, dtype, shape, requires_grad, has_graph


class _Kinds:
    """Which of the types met are tensors, arrays, images or frames; nothing is imported for it."""

    def __init__(self) -> None:
        self.met: Set[type] = set()
        self.tensors: Set[type] = set()
        self.images: Set[type] = set()
        self.frames: Set[type] = set()
        self.wanted: Set[type] = set()
        self.array: Optional[type] = getattr(sys.modules.get("numpy"), "ndarray", None)

    def meet(self, types: Set[type]) -> None:
        self.met |= types
        self.tensors |= _subclasses(types, "torch", "Tensor")
        self.images |= _subclasses(types, "PIL.Image", "Image")
        self.frames |= _subclasses(types, "pandas", "DataFrame") | _subclasses(types, "pandas", "Series")
        self.wanted = self.tensors | self.images | self.frames


def _subclasses(types: Iterable[type], module: str, name: str) -> Set[type]:
    base = getattr(sys.modules.get(module), name, None)
    if not isinstance(base, type):
        return set()
    return {t for t in types if issubclass(t, base)} | {base}


def _count_tracked(result: Census, objects: List[Any], found: _Largest, deadline: float) -> _Kinds:
    """Objects by type, and what the collector knows of tensors, images and frames."""
    kinds, tracked = _Kinds(), _Tracked(result, found)
    counts: Counter[type] = Counter()
    for first in range(0, len(objects), _CHUNK):
        if time.perf_counter() > deadline:
            result.looked_at = first / len(objects)
            break
        chunk = objects[first : first + _CHUNK]
        types = list(map(type, chunk))
        counts.update(types)
        new = set(types) - kinds.met
        if new:
            kinds.meet(new)
        for item in compress(chunk, map(kinds.wanted.__contains__, types)):
            tracked.add(item, kinds)
    tracked.finish()
    names: Counter[str] = Counter()
    for kind, count in counts.items():
        names[_name(kind)] += count
    result.types = names.most_common(100)
    if result.looked_at == 1:
        _count_growth(result, names)
    return kinds


class _Tracked:
    """Adds up tensors, images and frames."""

    def __init__(self, result: Census, found: _Largest) -> None:
        self.result, self.found = result, found
        self.groups: Dict[_TensorKey, List[int]] = {}
        self.storages: Set[Tuple[Any, int]] = set()

    def add(self, item: Any, kinds: _Kinds) -> None:
        result, kind = self.result, type(item)
        try:
            if kind in kinds.tensors:
                key, nbytes = _tensor(item, self.storages)
                group = self.groups.setdefault(key, [0, 0])
                group[0] += 1
                group[1] += nbytes
                result.tensor_bytes += nbytes
            elif kind in kinds.images:
                nbytes = _image_bytes(item)
                result.images += 1
                result.image_bytes += nbytes
            else:
                nbytes = _frame_bytes(item)
                result.frames += 1
                result.frame_bytes += nbytes
        except (RuntimeError, AttributeError, TypeError, ReferenceError, NotImplementedError):
            return  # being made or taken apart, or a fake tensor without a storage
        self.found.offer(nbytes, item)

    def finish(self) -> None:
        rows = [
            TensorGroup(str(device), str(dtype).replace("torch.", ""), tuple(shape), grad, graph, count, nbytes)
            for (device, dtype, shape, grad, graph), (count, nbytes) in self.groups.items()
        ]
        self.result.tensors = sorted(rows, key=lambda row: -row.bytes)


def _tensor(tensor: Any, storages: Set[Tuple[Any, int]]) -> Tuple[_TensorKey, int]:
    device = tensor.device
    key = (device, tensor.dtype, tensor.shape, bool(tensor.requires_grad), tensor.grad_fn is not None)
    storage = tensor.untyped_storage()
    address = int(storage.data_ptr())
    if not address or (device, address) in storages:
        return key, 0
    storages.add((device, address))
    return key, int(storage.nbytes())


def _image_bytes(image: Any) -> int:
    """Decoded bytes; 0 for an image whose pixels have not been loaded."""
    if getattr(image, "im", None) is None and getattr(image, "_im", None) is None:
        return 0
    width, height = image.size
    per_pixel = {"1": 1, "L": 1, "P": 1, "LA": 4, "RGB": 4, "I;16": 2}.get(image.mode, 4)
    return int(width) * int(height) * per_pixel


def _frame_bytes(frame: Any) -> int:
    usage = frame.memory_usage(deep=False)
    return int(usage.sum() if hasattr(usage, "sum") else usage)


def _count_untracked(result: Census, objects: List[Any], kinds: _Kinds, found: _Largest, deadline: float) -> None:
    """Arrays and buffers: the collector does not track them, so they are found as what tracked objects refer to."""
    counter = _Untracked(result, kinds, found)
    for first in range(0, len(objects), _CHUNK):
        if time.perf_counter() > deadline:
            result.searched = first / len(objects)
            return
        counter.add(gc.get_referents(*objects[first : first + _CHUNK]))
    for frame in running_frames():
        counter.add(list(local_variables(frame).values()))


class _Untracked:
    def __init__(self, result: Census, kinds: _Kinds, found: _Largest) -> None:
        self.result, self.array, self.found = result, kinds.array, found
        self.seen: Set[int] = set()
        # A dictionary or tuple of nothing but numbers, texts and buffers is not tracked either: it is looked into.
        self.wanted = {bytes, bytearray, dict, tuple} | ({self.array} if self.array is not None else set())

    def add(self, items: List[Any], container: Any = None) -> None:
        for item in items:
            kind = type(item)
            if kind not in self.wanted or id(item) in self.seen:
                continue
            if kind is dict or kind is tuple:
                if item and not gc.is_tracked(item):
                    self.seen.add(id(item))
                    self.add(gc.get_referents(item), item)
                continue
            self.seen.add(id(item))
            if kind is self.array:
                nbytes = 0 if item.base is not None else int(item.nbytes)  # a view owns nothing
                self.result.arrays += 1
                self.result.array_bytes += nbytes
            else:
                nbytes = sys.getsizeof(item)
                if nbytes < _LARGE:
                    continue
                self.result.buffers += 1
                self.result.buffer_bytes += nbytes
            self.found.offer(nbytes, item, container)


def _count_growth(result: Census, names: Counter[str]) -> None:
    global _last_types
    if _last_types:
        rows = [Growth(name, count, count - _last_types.get(name, 0)) for name, count in names.items()]
        result.grown = sorted((g for g in rows if g.more > 0), key=lambda g: -g.more)[:100]
    _last_types = dict(names)


def _describe(item: Any) -> str:
    kind = _name(type(item))
    shape = getattr(item, "shape", None)
    if shape is not None:
        return f"{kind} {list(shape)} {str(getattr(item, 'dtype', '')).replace('torch.', '')}".rstrip()
    return f"{kind} {item.size[0]} x {item.size[1]}" if kind.startswith("PIL.") else kind


def _name(kind: type) -> str:
    module = getattr(kind, "__module__", "")
    name = getattr(kind, "__qualname__", str(kind))
    return name if module in ("builtins", "__main__") else f"{module}.{name}"


def _cuda() -> Dict[str, int]:
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    if cuda is None or not cuda.is_initialized():
        return {}
    return {
        "allocated_bytes": int(cuda.memory_allocated()),
        "reserved_bytes": int(cuda.memory_reserved()),
        "peak_allocated_bytes": int(cuda.max_memory_allocated()),
    }
