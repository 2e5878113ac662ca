"""Accelerate: `log(accelerator)` after a step sends the watcher's figures through `accelerator.log`.

plimsoll.watch()
for batch in plimsoll.steps(loader):
    ...
    plimsoll.accelerate.log(accelerator, step)
"""

from __future__ import annotations

from typing import Any, Optional

from ._figures import Figures

_figures = Figures(0.0)


def log(accelerator: Any, step: Optional[int] = None, every: int = 10) -> bool:
    """Logs the figures at every `every`-th step; True where it did."""
    if step is not None and step % max(1, every):
        return False
    accelerator.log(_figures.read(), step=step)
    return True
