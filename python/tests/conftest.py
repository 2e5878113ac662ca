"""What the package's tests share: a fake watcher, and the program where it has been built."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import Iterator, List

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

pytest_plugins = ["pytester"]


class FakeWatcher:
    """The other end of PLIMSOLL_SOCKET."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(path)
        self.socket.settimeout(5)
        self.client: object = None

    def next(self) -> str:
        data, sender = self.socket.recvfrom(65536)
        self.client = sender or self.client
        return data.decode()

    def all(self) -> List[str]:
        found = []
        self.socket.setblocking(False)
        try:
            while True:
                found.append(self.next())
        except BlockingIOError:
            self.socket.settimeout(5)
        return found

    def send(self, text: str) -> None:
        self.socket.sendto(text.encode(), self.client)  # type: ignore[arg-type]


@pytest.fixture
def watcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeWatcher]:
    from plimsoll import _steps

    fake = FakeWatcher(str(tmp_path / "steps"))
    monkeypatch.setenv("PLIMSOLL_SOCKET", fake.path)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(_steps, "_TELL_EVERY", 0.0)
    monkeypatch.setattr(_steps, "_count", 0)
    monkeypatch.setattr(_steps, "_epoch", 0)
    monkeypatch.setattr(_steps, "_passes", 0)
    monkeypatch.setattr(_steps, "_callbacks", [])
    yield fake
    _steps.channel.close()
    fake.socket.close()


@pytest.fixture
def program() -> str:
    path = os.environ.get("PLIMSOLL_PROGRAM") or str(Path(__file__).resolve().parents[2] / "build" / "plimsoll")
    if not os.access(path, os.X_OK):
        pytest.skip("the plimsoll program has not been built; run `make build` or set PLIMSOLL_PROGRAM")
    return path
