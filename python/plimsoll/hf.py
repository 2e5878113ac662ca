"""Hugging Face Trainer: `Trainer(callbacks=[PlimsollCallback()])`.

Tells the watcher steps, epochs and the phases of evaluation, prediction and saving; adds memory, growth a step, verdict
and time to the line to the Trainer's logs, so that TensorBoard, W&B and MLflow show them; asks the Trainer to save and
stop when a guard runs out of room.
"""

from __future__ import annotations

import gc
import sys
from typing import Any, Dict, Iterator, List, Optional

from transformers import TrainerCallback  # type: ignore[import-not-found, import-untyped, unused-ignore]

from . import _steps, _watch
from ._figures import Figures, StopRequest
from ._program import say_once


class PlimsollCallback(TrainerCallback):  # type: ignore[misc, unused-ignore]
    """One object for one Trainer.

    `memory_leak_threshold_mb` is the growth a step from which a leak is reported, `cleanup_every_n_steps` runs the
    garbage collector that often (0: never), `stop_on_pressure` saves and stops when the guard asks for it, and
    `stop_on_leak` does so when a leak is found. Other options are those of `plimsoll.watch()`.
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
        self._predicting = False
        self._callbacks: List[Any] = []

    def on_init_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._move_first(sys._getframe(1).f_locals.get("self"))

    def _move_first(self, handler: Any) -> None:
        """Callbacks that log run before a user's, so figures added here would come too late for them."""
        callbacks = getattr(handler, "callbacks", None)
        if isinstance(callbacks, list) and self in callbacks:
            self._callbacks = callbacks
            callbacks.remove(self)
            callbacks.insert(0, self)

    def _text_sinks(self) -> Iterator[Any]:
        """Where the Trainer's own callbacks write to, as far as it takes text."""
        for callback in self._callbacks:
            for name in ("tb_writer", "_ml_flow"):
                if getattr(callback, name, None) is not None:
                    yield getattr(callback, name)
            run = getattr(getattr(callback, "_wandb", None), "run", None)
            if run is not None:
                yield run

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._move_first(sys._getframe(1).f_locals.get("self"))  # for one that was added after the Trainer was made
        _watch.watch(**self.watch_options)
        if self.stop_on_pressure and self.request is None:
            self.request = StopRequest()

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if (state.num_train_epochs or 0) > 1:  # of a single epoch nothing is said: no second one will tell
            _steps.epoch(int(state.epoch or 0) + 1)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._predicting:
            self._end_prediction()
        _steps.step(state.global_step, state.max_steps)
        if self.cleanup_every_n_steps and state.global_step % self.cleanup_every_n_steps == 0:
            gc.collect()
        if self.request is not None and self.request.reason:
            say_once(f"the guard asks for memory ({self.request.reason}); saving and stopping at step {state.global_step}")
            control.should_save = control.should_training_stop = True
        elif self.stop_on_leak and self.figures.leaks():
            say_once(f"stopping at step {state.global_step}: {self.figures.last}")
            control.should_save = control.should_training_stop = True

    def on_prediction_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if not self._predicting:
            self._predicting = True
            _steps.begin_phase("validate")

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._end_prediction()

    def on_predict(self, args: Any, state: Any, control: Any, metrics: Any, **kwargs: Any) -> None:
        self._end_prediction()

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        with _steps.phase("save"):
            pass  # the callback runs after the files were written; the mark shows when

    def on_log(self, args: Any, state: Any, control: Any, logs: Optional[Dict[str, float]] = None, **kwargs: Any) -> None:
        if logs is None or not getattr(state, "is_world_process_zero", True):
            return
        final = "train_runtime" in logs
        logs.update(self.figures.read(final))
        self.figures.tell(self._text_sinks(), state.global_step, final)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._end_prediction()

    def _end_prediction(self) -> None:
        if self._predicting:
            self._predicting = False
            _steps.end_phase()
