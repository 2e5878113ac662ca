"""Watch the memory of a training script from inside it.

    import plimsoll
    plimsoll.watch()                          # a watcher of this process and its children; reports at exit
    for batch in plimsoll.steps(loader):      # or plimsoll.step(i), plimsoll.epoch(2)
        ...
    with plimsoll.phase("validate"):
        ...
    print(plimsoll.verdict())

Importing this package starts, writes and prints nothing. Without the `plimsoll` program each call says once how to get
it, and the script goes on.
"""

from __future__ import annotations

from typing import Any

from ._channel import Pressure
from ._steps import begin_phase, end_phase, epoch, on_pressure, phase, step, steps
from ._watch import Verdict, stop, verdict, watch
from .census import Census, census

__all__ = [
    "Census",
    "Pressure",
    "Verdict",
    "begin_phase",
    "census",
    "end_phase",
    "epoch",
    "on_pressure",
    "phase",
    "step",
    "steps",
    "stop",
    "sync",
    "verdict",
    "watch",
]


def sync(run: str, to: str, **options: Any) -> int:
    """Sends a run.db to MLflow or W&B; see `plimsoll.sync`."""
    from ._sync import sync as send

    return send(run, to, **options)


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext plimsoll` in a notebook: adds `%%memory`."""
    from .notebook import load

    load(shell)
