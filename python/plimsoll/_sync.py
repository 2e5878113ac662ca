"""Sends a run.db to MLflow or Weights & Biases: `plimsoll.sync("runs/mine", "mlflow")`.

The record is read with Python's own sqlite3, so a run that is still being written can be sent too. W&B is used in its
offline mode unless it was set up otherwise.
"""

from __future__ import annotations

import os
import sqlite3
from typing import Any, Dict, Iterator, List, Tuple

_NOT_FIGURES = ("id", "step", "phase", "pss_interpolated")
Row = Tuple[int, Dict[str, float]]


def sync(run: str, to: str, **options: Any) -> int:
    """Sends settings, losses, learning rate, speed and memory; returns how many rows were sent.

    `to` is "mlflow" or "wandb"; `options` go to `mlflow.start_run` or `wandb.init`.
    """
    senders = {"mlflow": _to_mlflow, "wandb": _to_wandb}
    if to not in senders:
        raise ValueError(f"sync to {to!r} is not known; give 'mlflow' or 'wandb'")
    path = os.path.join(run, "run.db") if os.path.isdir(run) else run
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no record at {path}; give a run folder or a run.db")
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        database.row_factory = sqlite3.Row
        return senders[to](_settings(database), list(_rows(database)), options)


def _columns(database: sqlite3.Connection, table: str) -> List[str]:
    return [row["name"] for row in database.execute(f"PRAGMA table_info({table})")]


def _settings(database: sqlite3.Connection) -> Dict[str, str]:
    columns = _columns(database, "configuration")
    if "key" not in columns:
        return {}
    return {row["key"]: row["value"] for row in database.execute("SELECT key, value FROM configuration")}


def _rows(database: sqlite3.Connection) -> Iterator[Row]:
    """Each table's numbers by step, in the order of steps."""
    found: List[Row] = []
    for table, prefix in (("steps", "train/"), ("evaluations", "validation/"), ("memory", "memory/")):
        columns = _columns(database, table)
        if "step" not in columns:
            continue
        for row in database.execute(f"SELECT * FROM {table} WHERE step IS NOT NULL ORDER BY step"):
            numbers = {
                prefix + name: float(row[name])
                for name in columns
                if name not in _NOT_FIGURES and isinstance(row[name], (int, float))
            }
            found.append((int(row["step"]), numbers))
    return iter(sorted(found, key=lambda row: row[0]))


def _to_mlflow(settings: Dict[str, str], rows: List[Row], options: Dict[str, Any]) -> int:
    import mlflow  # type: ignore[import-not-found, import-untyped, unused-ignore]

    with mlflow.start_run(**options):
        mlflow.log_params({key: value[:500] for key, value in settings.items()})
        for step, numbers in rows:
            mlflow.log_metrics(numbers, step=step)
    return len(rows)


def _to_wandb(settings: Dict[str, str], rows: List[Row], options: Dict[str, Any]) -> int:
    import wandb  # type: ignore[import-not-found, import-untyped, unused-ignore]

    options.setdefault("mode", os.environ.get("WANDB_MODE", "offline"))
    run = wandb.init(config=settings, **options)
    for step, numbers in rows:
        run.log(numbers, step=step)
    run.finish()
    return len(rows)
