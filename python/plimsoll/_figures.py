"""The figures that callbacks add to a framework's logs: memory, growth a step, verdict, time to the line."""

from __future__ import annotations

import os
import time
from typing import Any, Dict, Iterable, Optional

from . import _steps, _watch
from ._channel import Pressure
from ._program import say_once

MEGABYTE = 1e6
_TEXT = "plimsoll/verdict"
_WAIT_AT_THE_END = 20.0  # seconds; names of lines may have to be looked up
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
        self._told: Optional[str] = None

    def read(self, final: bool = False) -> Dict[str, float]:
        """Numbers by name, as a logger takes them. Training waits for the last ones of a run only."""
        now = time.monotonic()
        if final:
            self.last = _watch.verdict(_WAIT_AT_THE_END) or self.last
        elif _steps.latest_verdict:
            self.last = _watch.from_json(_steps.latest_verdict)
        if now - self._asked >= _ASK_EVERY:
            self._asked = now
            _steps.request_verdict()
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

    def tell(self, sinks: Iterable[Any], step: int, final: bool = False) -> None:
        """Writes the sentence of a leak and the line that grows where loggers keep text: when first seen, when another
        line is named, and at the end."""
        if self.last is None or not self.leaks():
            return
        line = self.last.line or ""
        if line == self._told and not final:
            return
        self._told = line
        text = f"{self.last.sentence} The line that grows: {line}" if line else self.last.sentence
        say_once(text)
        for sink in sinks:
            _write_text(sink, text, step)


def _write_text(sink: Any, text: str, step: int) -> None:
    """To a TensorBoard writer, the mlflow module, an MLflow client with its run, or a W&B run."""
    client, run = sink if isinstance(sink, tuple) else (sink, None)
    if hasattr(client, "add_text"):
        client.add_text(_TEXT, text, step)
    elif run is not None:
        client.set_tag(run, _TEXT, text)
    elif hasattr(client, "set_tag"):
        client.set_tag(_TEXT, text)
    elif hasattr(client, "summary"):
        client.summary[_TEXT] = text


class StopRequest:
    """Set when a guard says `stop` (or `pause`, which precedes it): the framework then saves and leaves."""

    def __init__(self) -> None:
        self.reason = ""
        _steps.on_pressure(self._hear)

    def _hear(self, event: Pressure) -> int:
        if event.level in ("pause", "stop"):
            self.reason = event.reason or event.level
        return 0
