"""The figures that callbacks add to a framework's logs: memory, growth a step, verdict, time to the line."""

from __future__ import annotations

import os
import time
from typing import Dict, Optional

from . import _steps, _watch
from ._channel import Pressure

MEGABYTE = 1e6
_ASK_EVERY = 5.0  # seconds; judging costs the watcher a few milliseconds


def resident_bytes() -> int:
    """The resident memory of this process."""
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Figures:
    """Asks the watcher now and then and keeps its last answer."""

    def __init__(self, threshold_mb: float) -> None:
        self.threshold_mb = threshold_mb
        self.last: Optional[_watch.Verdict] = None
        self._asked = -_ASK_EVERY

    def read(self) -> Dict[str, float]:
        """Numbers by name, as a logger takes them."""
        now = time.monotonic()
        if now - self._asked >= _ASK_EVERY:
            self._asked = now
            self.last = _watch.verdict(0.5) or self.last
        found = {"plimsoll/memory_mb": resident_bytes() / MEGABYTE}
        if self.last is None:
            return found
        tree = self.last.json.get("memory_bytes")
        if tree:
            found["plimsoll/tree_memory_mb"] = float(tree) / MEGABYTE
        found["plimsoll/growth_mb_per_second"] = self.last.bytes_per_second / MEGABYTE
        if self.last.bytes_per_step is not None:
            found["plimsoll/growth_mb_per_step"] = self.last.bytes_per_step / MEGABYTE
        if self.last.seconds_to_limit is not None:
            found["plimsoll/minutes_to_limit"] = self.last.seconds_to_limit / 60
        found["plimsoll/leak"] = float(self.leaks())
        return found

    def leaks(self) -> bool:
        """Whether the verdict is a leak above the threshold."""
        if self.last is None or not self.last.leak:
            return False
        per_step = self.last.bytes_per_step
        return per_step is None or per_step >= self.threshold_mb * MEGABYTE


class StopRequest:
    """Set when a guard says `stop` (or `pause`, which precedes it): the framework then saves and leaves."""

    def __init__(self) -> None:
        self.reason = ""
        _steps.on_pressure(self._hear)

    def _hear(self, event: Pressure) -> int:
        if event.level in ("pause", "stop"):
            self.reason = event.reason or event.level
        return 0
