"""Accelerate: `log(accelerator)` after a step sends the watcher's figures through `accelerator.log`.

plimsoll.watch()
for batch in plimsoll.steps(loader):
    ...
    plimsoll.accelerate.log(accelerator, step)
"""

from __future__ import annotations

import sys
from typing import Any, Optional

from ._figures import Figures

_figures = Figures(0.0)


def log(accelerator: Any, step: Optional[int] = None, every: int = 10, final: bool = False) -> bool:
    """Logs the figures at every `every`-th step, and at the end of the run (`final`) the last ones; True where it did."""
    if step is not None and step % max(1, every) and not final:
        return False
    accelerator.log(_figures.read(final), step=step)
    if accelerator.is_main_process:
        _figures.tell(map(_text_sink, accelerator.trackers), step or 0, final)
    return True


def _text_sink(tracker: Any) -> Any:
    """What of a tracker takes text. MLflow's is a run, which does not: the module does, for the run that is active."""
    return sys.modules.get("mlflow") if tracker.name == "mlflow" else tracker.tracker
