"""Lightning: `Trainer(callbacks=[PlimsollCallback()])`, for `lightning` and `pytorch_lightning`."""

from __future__ import annotations

import gc
import math
from typing import Any, Optional

try:
    from lightning.pytorch.callbacks import Callback  # type: ignore[import-not-found, unused-ignore]
except ImportError:
    from pytorch_lightning.callbacks import Callback  # type: ignore[import-not-found, assignment, unused-ignore]

from . import _steps, _watch
from ._figures import Figures, StopRequest
from ._program import say_once


class PlimsollCallback(Callback):  # type: ignore[misc, unused-ignore]
    """Steps, epochs and validation phases to the watcher; its figures to the loggers of the Trainer.

    The options are those of `plimsoll.hf.PlimsollCallback`.
    """

    def __init__(
        self,
        memory_leak_threshold_mb: float = 0.0,
        cleanup_every_n_steps: int = 0,
        stop_on_pressure: bool = True,
        stop_on_leak: bool = False,
        **watch: Any,
    ) -> None:
        self.cleanup_every_n_steps = cleanup_every_n_steps
        self.stop_on_pressure = stop_on_pressure
        self.stop_on_leak = stop_on_leak
        self.watch_options = watch
        self.figures = Figures(memory_leak_threshold_mb)
        self.request: Optional[StopRequest] = None
        self._step = 0
        self._total: Optional[int] = None

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        _watch.watch(**self.watch_options)
        if self.stop_on_pressure and self.request is None:
            self.request = StopRequest()
        total = trainer.estimated_stepping_batches
        self._total = int(total) if math.isfinite(total) else None

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        if self._total is None or self._total > trainer.num_training_batches // trainer.accumulate_grad_batches:
            _steps.epoch(trainer.current_epoch + 1)  # of a single epoch nothing is said: no second one will tell

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        if trainer.global_step == self._step:
            return  # gradients are being accumulated
        self._step = trainer.global_step
        _steps.step(trainer.global_step, self._total)
        if self.cleanup_every_n_steps and trainer.global_step % self.cleanup_every_n_steps == 0:
            gc.collect()
        if trainer.is_global_zero and trainer.global_step % max(1, trainer.log_every_n_steps) == 0:
            self._log(trainer)
        asked = self.request.reason if self.request is not None else ""
        if asked or (self.stop_on_leak and self.figures.leaks()):
            say_once(f"stopping at step {trainer.global_step}: {asked or self.figures.last}")
            trainer.should_stop = True

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        if trainer.is_global_zero:
            self._log(trainer, final=True)

    def _log(self, trainer: Any, final: bool = False) -> None:
        figures = self.figures.read(final)
        for logger in trainer.loggers:
            logger.log_metrics(figures, step=trainer.global_step)
        self.figures.tell(map(_text_sink, trainer.loggers), trainer.global_step, final)

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        _steps.begin_phase("validate")

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        _steps.end_phase()

    def on_test_start(self, trainer: Any, pl_module: Any) -> None:
        _steps.begin_phase("test")

    def on_test_end(self, trainer: Any, pl_module: Any) -> None:
        _steps.end_phase()


def _text_sink(logger: Any) -> Any:
    """What of a logger takes text; an MLflow client takes it for a run."""
    run = getattr(logger, "run_id", None)
    return (logger.experiment, run) if isinstance(run, str) else logger.experiment
