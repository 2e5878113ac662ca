"""Exact counters of this process's memory, and the rule that judges a few dozen readings of them.

Resident memory is too coarse for a unit test: it moves by pages and by what the allocator keeps. What malloc has handed
out and how many small blocks Python holds are known to the byte and to the block.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from array import array
from dataclasses import dataclass
from typing import Callable, List, Optional, Sequence

_MALLINFO_FIELDS = (
    "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
)  # fmt: skip


class _Mallinfo2(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in _MALLINFO_FIELDS]


def _load_mallinfo() -> Optional[Callable[[], _Mallinfo2]]:
    try:
        function = ctypes.CDLL(None).mallinfo2  # glibc 2.33
    except (AttributeError, OSError):
        return None
    function.restype = _Mallinfo2
    function.argtypes = []
    found: Callable[[], _Mallinfo2] = function
    return found


_mallinfo = _load_mallinfo()
_PAGE = os.sysconf("SC_PAGE_SIZE")
_clear_caches: Callable[[], None] = getattr(sys, "_clear_internal_caches", None) or sys._clear_type_cache


@dataclass(frozen=True)
class Reading:
    """Bytes malloc has handed out and not taken back, Python's small blocks, and anonymous resident bytes."""

    malloc_bytes: int
    blocks: int
    anonymous_bytes: int


def read() -> Reading:
    """The counters after a full collection. The interpreter's cache of attributes, which keeps names alive, is emptied."""
    _clear_caches()
    gc.collect()
    malloc_bytes = 0
    if _mallinfo is not None:
        info = _mallinfo()
        malloc_bytes = info.uordblks + info.hblkhd
    return Reading(malloc_bytes, sys.getallocatedblocks(), _anonymous_bytes())


def after_each_call(body: Callable[[], object], calls: int) -> List[Reading]:
    """Reads after each of `calls` calls. What lived before is frozen, so that a collection looks at what is new only.

    The numbers go into arrays of their final size: objects of ours that stayed would be counted as the body's.
    """
    malloc_bytes, blocks, anonymous_bytes = (array("q", bytes(8 * calls)) for _ in range(3))
    gc.collect()
    gc.freeze()
    try:
        for call in range(calls):
            body()
            now = read()
            malloc_bytes[call] = now.malloc_bytes
            blocks[call] = now.blocks
            anonymous_bytes[call] = now.anonymous_bytes
    finally:
        gc.unfreeze()
    return [Reading(*numbers) for numbers in zip(malloc_bytes, blocks, anonymous_bytes)]


def _anonymous_bytes() -> int:
    """Resident pages that no file backs. Read as bytes: a text file leaves objects behind in the interpreter's caches."""
    with open("/proc/self/statm", "rb") as file:
        _, resident, shared, *_ = file.read().split()
    return (int(resident) - int(shared)) * _PAGE


@dataclass(frozen=True)
class Leak:
    """What grew: how much a call, in words."""

    words: str


def judge(readings: Sequence[Reading], bytes_per_call: int, blocks_per_call: float) -> Optional[Leak]:
    """A leak is a floor that keeps rising: the least of each quarter of the calls above that of the one before.

    The first quarter is left out, since caches and pools fill there. A cache that fills later and stops leaves two
    quarters equal; a saw-tooth does not raise the floor.
    """
    native = _rise([r.malloc_bytes for r in readings])
    if native >= bytes_per_call:
        return Leak(f"{native:,.0f} bytes of malloc a call")
    blocks = _rise([r.blocks for r in readings])
    if blocks >= blocks_per_call:
        return Leak(f"{blocks:,.1f} Python blocks a call")
    pages = _rise([r.anonymous_bytes for r in readings])
    if pages >= max(64 * 1024, bytes_per_call):
        return Leak(f"{pages:,.0f} bytes of mapped memory a call")
    return None


def _rise(series: List[int]) -> float:
    """Growth a call of the floor over the last three quarters; 0 where it does not rise from each to the next."""
    quarter = len(series) // 4
    if quarter < 2:
        return 0.0
    parts = [series[quarter * i : quarter * (i + 1)] for i in (1, 2, 3)]
    floors = [min(part) for part in parts]
    if not floors[0] < floors[1] < floors[2]:
        return 0.0
    # Both halves must carry their share, else a single step up would be spread over all calls.
    return min(floors[1] - floors[0], floors[2] - floors[1]) / quarter
