"""Steps, epochs and phases of the running program, and what is answered between two of them."""

from __future__ import annotations

import atexit
import json
import os
import threading
import time
from contextlib import contextmanager
from typing import Any, Dict, Iterable, Iterator, List, Optional, TypeVar

from . import _channel
from ._program import say_once

T = TypeVar("T")
_LONGEST_REPLY = 60_000
_TELL_EVERY = 0.1  # seconds: a message wakes the watcher, and an inbox is looked into; quick steps need neither each time

channel = _channel.Channel()
_callbacks: List[_channel.Callback] = []
_count = 0
_total: Optional[int] = None
_told = 0.0
_untold = False
_epoch = 0
_passes = 0
_phases: List[str] = []
latest_verdict: Dict[str, Any] = {}


def step(number: Optional[int] = None, total: Optional[int] = None) -> None:
    """Tells the watcher that a step is done: number `number`, or one more than the last, of `total` where that is known.

    Requests that have arrived meanwhile are answered here: callbacks of `on_pressure` run, and a census that was asked
    for from outside is taken. Of steps quicker than 100 ms only some do all this; the number says how many there were.
    Does nothing where no watcher listens.
    """
    global _count, _total, _told, _untold
    _count = _count + 1 if number is None else int(number)
    _total = total
    _untold = True
    now = time.monotonic()
    if now - _told >= _TELL_EVERY:
        _told = now
        _flush()
        _answer()


def _flush() -> None:
    """Tells the last step, where that has not been done."""
    global _untold
    if _untold:
        _untold = False
        channel.send(f"step {_count}/{_total}" if _total and _total > 0 else f"step {_count}")


def steps(iterable: Iterable[T]) -> Iterator[T]:
    """Yields what `iterable` yields and tells a step after each. A second call tells that the first epoch is over.

    Of a program that calls it once nothing is said about epochs: the watcher would wait for the second to tell a leak from
    something that is kept once for each sample.
    """
    global _passes
    _passes += 1
    if _passes == 2 and _epoch == 0:
        epoch(1)
    if _passes > 1:
        epoch()
    for item in iterable:
        yield item
        step()


def epoch(number: Optional[int] = None) -> None:
    """Tells the watcher that an epoch begins: number `number`, or one more than the last."""
    global _epoch
    _flush()
    _epoch = _epoch + 1 if number is None else int(number)
    channel.send(f"epoch {_epoch}")
    _answer()


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Names the part of the run that the block is, such as "validate"; the phase around it resumes afterwards."""
    begin_phase(name)
    try:
        yield
    finally:
        end_phase()


def begin_phase(name: str) -> None:
    """Begins a phase, for callbacks that cannot use a `with` block."""
    _flush()
    _phases.append(name)
    channel.send(f"phase {name}")


def end_phase() -> None:
    """Ends the innermost phase."""
    _flush()
    if _phases:
        _phases.pop()
    channel.send(f"phase {_phases[-1] if _phases else 'train'}")
    _answer()


def on_pressure(callback: _channel.Callback) -> _channel.Callback:
    """Calls `callback(event)` at the next step when a guard reports a level; it returns how many bytes it gave back.

    `event.level` is "warn", "shrink", "pause", "stop" or "ok"; `event.used_bytes`, `event.limit_bytes` and
    `event.reason` say more. The return value is used for "shrink" only. Can be used as a decorator.
    """
    _callbacks.append(callback)
    channel.listen()
    return callback


def _answer() -> None:
    if threading.current_thread() is not threading.main_thread():
        return
    while True:
        message = channel.receive()
        if message is None:
            return
        pressure = _channel.parse_pressure(message.text)
        if pressure is not None:
            _relieve(pressure)
        elif message.text.startswith("census"):
            _send_census(message)
        else:
            _keep_verdict(message)


def request_verdict() -> None:
    """Asks for the verdict without waiting; it is in `latest_verdict` after some later step."""
    channel.send("verdict")


def _keep_verdict(message: _channel.Message) -> None:
    global latest_verdict
    fields = _channel.parse_object(message.text)
    if "verdict" in fields:
        latest_verdict = fields


def _relieve(pressure: _channel.Pressure) -> None:
    given_back = 0
    for callback in list(_callbacks):
        try:
            given_back += int(callback(pressure) or 0)
        except Exception as error:  # the user's program goes on whatever a callback does
            say_once(f"an on_pressure callback failed: {type(error).__name__}: {error}")
    if pressure.level == "shrink":
        channel.send(f"shrunk {max(0, given_back)}")


def _send_census(request: _channel.Message) -> None:
    from .census import DEFAULT_BUDGET, census

    try:
        budget = float(request.text.split()[1])
    except (IndexError, ValueError):
        budget = DEFAULT_BUDGET
    taken = census(budget=budget)
    text = str(taken)
    for most in (40, 10, 0):  # what fits a datagram
        reply = json.dumps({"census": taken.as_dict(most), "text": text[:8000]})
        if len(reply) <= _LONGEST_REPLY:
            channel.reply(request, reply)
            return


def ask(question: str, key: str, seconds: float) -> Optional[Dict[str, Any]]:
    """Asks the watcher, which then knows of all steps."""
    _flush()
    return channel.ask(question, key, seconds)


def close() -> None:
    """At the end of watching or of the program."""
    _flush()
    channel.close()


atexit.register(close)


def _forget() -> None:
    global _untold
    _untold = False  # the step was the parent's


os.register_at_fork(after_in_child=_forget)
