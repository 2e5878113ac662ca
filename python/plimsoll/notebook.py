"""`%load_ext plimsoll`, then `%%memory` at the top of a cell: its peak, what it kept, and the curve."""

from __future__ import annotations

import threading
import time
from typing import Any, List, Tuple

from . import _counters
from ._figures import resident_bytes
from .census import size

_INTERVAL = 0.02


class Curve:
    """Resident memory while a block runs, sampled by a thread; at most 2,000 points."""

    def __init__(self) -> None:
        self.points: List[Tuple[float, int]] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> Curve:
        self._begin = time.perf_counter()
        self._add()
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._ended.set()
        self._thread.join()
        self._add()

    @property
    def peak(self) -> int:
        return max(value for _, value in self.points)

    def _add(self) -> None:
        self.points.append((time.perf_counter() - self._begin, resident_bytes()))

    def _sample(self) -> None:
        interval = _INTERVAL
        while not self._ended.wait(interval):
            self._add()
            if len(self.points) > 2000:
                # Every other point goes; the highest stays.
                highest = max(self.points, key=lambda point: point[1])
                self.points = sorted({*self.points[::2], highest})
                interval *= 2

    def svg(self, width: int = 480, height: int = 80) -> str:
        """The curve as a small picture."""
        low = min(value for _, value in self.points)
        span = max(self.peak - low, 1)
        length = max(self.points[-1][0], 1e-9)
        places = " ".join(
            f"{t / length * width:.1f},{height - (value - low) / span * (height - 4) - 2:.1f}" for t, value in self.points
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'role="img" aria-label="resident memory over time"><polyline points="{places}" fill="none" '
            f'stroke="currentColor" stroke-width="1.5"/></svg>'
        )


class Report:
    """What a cell did to memory; a notebook shows it with the curve, a terminal as one line."""

    def __init__(self, before: _counters.Reading, after: _counters.Reading, curve: Curve) -> None:
        first = curve.points[0][1]
        seconds = curve.points[-1][0]
        kept = after.malloc_bytes - before.malloc_bytes
        blocks = after.blocks - before.blocks
        self.text = (
            f"peak {size(curve.peak)} (+{size(max(0, curve.peak - first))}), kept {size(abs(kept))}"
            f"{' less' if kept < 0 else ''} of malloc and {blocks:+,} Python blocks, {seconds:.2f} s"
        )
        self.curve = curve

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<div>{self.text}<br>{self.curve.svg()}</div>"


def load(shell: Any) -> None:
    """Registers the cell magic."""

    def memory(line: str, cell: str) -> Report:
        """%%memory: runs the cell and shows what it did to memory."""
        before = _counters.read()
        with Curve() as curve:
            shell.run_cell(cell)
        return Report(before, _counters.read(), curve)

    shell.register_magic_function(memory, magic_kind="cell", magic_name="memory")
