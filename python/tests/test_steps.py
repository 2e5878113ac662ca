"""Messages to the watcher, and what is answered at a step."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import List

import pytest
from conftest import FakeWatcher

import plimsoll
from plimsoll import _channel, _steps

PACKAGE = str(Path(__file__).resolve().parents[1])


def test_steps_epochs_and_phases(watcher: FakeWatcher) -> None:
    for _ in range(2):
        for _ in plimsoll.steps([1]):
            pass
    with plimsoll.phase("validate"), plimsoll.phase("save"):
        pass
    plimsoll.step(40)
    plimsoll.step()
    plimsoll.epoch(5)
    assert watcher.all() == [
        "step 1", "epoch 1", "epoch 2", "step 2", "phase validate", "phase save", "phase validate", "phase train",
        "step 40", "step 41", "epoch 5",
    ]  # fmt: skip


def test_a_step_is_told_after_its_body(watcher: FakeWatcher) -> None:
    for _ in plimsoll.steps([1]):
        assert watcher.all() == []
    assert watcher.all() == ["step 1"]


def test_of_quick_steps_the_last_is_told(watcher: FakeWatcher, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_steps, "_TELL_EVERY", 1000.0)
    monkeypatch.setattr(_steps, "_told", 0.0)
    for i in range(1, 101):
        plimsoll.step(i, 400)
    with plimsoll.phase("validate"):
        pass
    assert watcher.all() == ["step 1/400", "step 100/400", "phase validate", "phase train"]


def test_a_phase_ends_when_its_body_raises(watcher: FakeWatcher) -> None:
    with pytest.raises(ValueError), plimsoll.phase("validate"):
        raise ValueError
    assert watcher.all() == ["phase validate", "phase train"]


def test_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PLIMSOLL_SOCKET", raising=False)
    plimsoll.step()
    assert plimsoll.verdict() is None


def test_a_watcher_that_has_gone(watcher: FakeWatcher) -> None:
    watcher.socket.close()
    os.unlink(watcher.path)
    plimsoll.step()
    plimsoll.step()


def test_a_full_socket_does_not_block(watcher: FakeWatcher) -> None:
    for _ in range(5000):
        plimsoll.step()
    assert 0 < len(watcher.all()) < 5000


def test_a_forked_child_has_its_own_socket(watcher: FakeWatcher) -> None:
    plimsoll.step()
    mine = _steps.channel._socket
    child = os.fork()
    if child == 0:
        plimsoll.step()
        os._exit(0 if _steps.channel._socket is not mine else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert watcher.all() == ["step 1", "step 2"]


def test_pressure_is_answered_at_the_next_step(watcher: FakeWatcher) -> None:
    heard: List[plimsoll.Pressure] = []
    _steps.channel._listening = False

    @plimsoll.on_pressure
    def shrink(event: plimsoll.Pressure) -> int:
        heard.append(event)
        return 1000

    plimsoll.step()
    assert watcher.all() == ["listen", "step 1"]
    watcher.send(json.dumps({"guard": "shrink", "used_bytes": 9, "limit_bytes": 10, "reason": "full"}))
    assert heard == []
    plimsoll.step()
    assert heard == [plimsoll.Pressure("shrink", 9, 10, "full")]
    assert watcher.all() == ["step 2", "shrunk 1000"]


def test_a_callback_can_be_added_later(watcher: FakeWatcher, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_steps.channel, "_listening", False)
    assert plimsoll.watch()  # connects to the watcher there is
    plimsoll.step()
    plimsoll.on_pressure(lambda event: 0)
    plimsoll.on_pressure(lambda event: 0)
    assert watcher.all() == ["step 1", "listen"]


def test_a_callback_that_fails_does_not_end_the_program(watcher: FakeWatcher, capsys: pytest.CaptureFixture[str]) -> None:
    @plimsoll.on_pressure
    def broken(event: plimsoll.Pressure) -> int:
        raise RuntimeError("no")

    plimsoll.step()
    watcher.all()
    watcher.send('{"guard":"shrink"}')
    plimsoll.step()
    assert watcher.all() == ["step 2", "shrunk 0"]
    assert "RuntimeError: no" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "[]", '{"guard":', '{"other":1}', '{"guard":"warn","used_bytes":"x"}', "\x00\xff"])
def test_what_is_no_message_is_ignored(watcher: FakeWatcher, text: str) -> None:
    plimsoll.step()
    watcher.all()
    watcher.send(text)
    plimsoll.step()
    assert watcher.all() == ["step 2"]


def test_a_verdict_is_asked_for(watcher: FakeWatcher) -> None:
    child = os.fork()
    if child == 0:
        while watcher.next() != "verdict":
            pass
        watcher.send('{"guard":"warn"}')  # waits its turn
        watcher.send('{"verdict":"leak","sentence":"Leak.","rate_bytes_per_second":5.0,"culprit":{"name":"python"}}')
        os._exit(0)
    plimsoll.step()
    answer = plimsoll.verdict()
    os.waitpid(child, 0)
    assert answer is not None and answer.leak and str(answer) == "Leak." and answer.culprit == "python"
    pressure = _channel.parse_pressure(_steps.channel.receive().text)  # type: ignore[union-attr]
    assert pressure is not None and pressure.level == "warn"


def test_a_census_is_asked_for_from_outside(watcher: FakeWatcher) -> None:
    plimsoll.step()
    watcher.all()
    assert os.path.exists(_channel.inbox(os.getpid()))
    watcher.send("census 0.5")
    plimsoll.step()
    messages = watcher.all()
    assert messages[0] == "step 2" and json.loads(messages[1])["census"]["objects"] > 0


def test_import_does_nothing(tmp_path: Path) -> None:
    """No file, no output, no thread, no process."""
    script = "import threading, os, plimsoll; print(threading.active_count(), os.listdir('.'))"
    environment = {**os.environ, "PYTHONPATH": PACKAGE}
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("1 []\n", "")


def test_without_the_program_it_says_so_once(tmp_path: Path) -> None:
    script = "import plimsoll; plimsoll.watch(); plimsoll.watch(); plimsoll.step(); print('trained')"
    environment = {"PYTHONPATH": PACKAGE, "PATH": "", "PLIMSOLL_PROGRAM": str(tmp_path / "none")}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert done.stdout == "trained\n" and done.returncode == 0
    assert done.stderr.count("was not found") == 1
