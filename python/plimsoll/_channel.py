"""The datagram socket to a watcher or guard. Sending never blocks, never raises, and costs a few microseconds.

One socket serves a process; a forked child opens its own at its first message, so nothing is shared across a fork.
Requests that arrive (the guard's levels, a census asked for from outside) wait in the socket until the program reaches
a step, an epoch or a phase: nothing of ours runs between two lines of the user's program.
"""

from __future__ import annotations

import json
import os
import select
import socket
import time
from collections import deque
from dataclasses import dataclass
from typing import Any, Callable, Deque, Dict, Optional

Address = Any  # what recvfrom gives


@dataclass(frozen=True)
class Message:
    """Something the other side sent."""

    text: str
    sender: Address


class Channel:
    """Connects by PLIMSOLL_SOCKET when first used; stays silent where nobody listens."""

    def __init__(self) -> None:
        self._socket: Optional[socket.socket] = None
        self._pid = 0
        self._path = ""
        self._listening = False
        self._inbox = ""
        self._waiting: Deque[Message] = deque()

    def send(self, text: str) -> bool:
        """Sends one message; False where nobody is there to take it or the receiver is full."""
        here = self._connected()
        if here is None:
            return False
        try:
            here.sendto(text.encode("utf-8", "replace")[:1000], self._path)
            return True
        except BlockingIOError:
            return False
        except OSError:
            self.close()  # the watcher has gone; a later one has another path
            self._path = ""
            return False

    def open(self) -> bool:
        """Connects, so that questions can arrive before the first message is sent."""
        return self._connected() is not None

    def listen(self) -> bool:
        """Asks the guard to be told its levels: now, or when the socket is opened."""
        was_open = self.open()
        self._listening, was_listening = True, self._listening
        return was_open and (was_listening or self.send("listen"))

    def receive(self) -> Optional[Message]:
        """The next message waiting, or None at once."""
        if self._socket is None or self._pid != os.getpid():
            return None
        return self._waiting.popleft() if self._waiting else self._read()

    def _read(self) -> Optional[Message]:
        try:
            data, sender = self._socket.recvfrom(65536) if self._socket is not None else (b"", None)
        except OSError:
            return None
        return Message(data.decode("utf-8", "replace"), sender)

    def ask(self, text: str, key: str, seconds: float) -> Optional[Dict[str, Any]]:
        """Sends `text` and waits for the JSON object with `key` that answers it; other messages wait their turn."""
        if not self.send(text) or self._socket is None:
            return None
        deadline = time.monotonic() + seconds
        while True:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._socket], [], [], left)[0]:
                return None
            message = self._read()
            if message is None:
                continue
            fields = parse_object(message.text)
            if key in fields:
                return fields
            self._waiting.append(message)

    def reply(self, to: Message, text: str) -> None:
        """Answers a message; what does not fit one datagram is lost, and so is an answer to somebody who has left."""
        if self._socket is None or not to.sender:
            return
        try:
            self._socket.sendto(text.encode(), to.sender)
        except OSError:
            pass

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            if self._inbox and self._pid == os.getpid():
                _unlink(self._inbox)
        self._socket, self._inbox = None, ""

    def _connected(self) -> Optional[socket.socket]:
        path = os.environ.get("PLIMSOLL_SOCKET", "")
        if not path:
            return None
        if self._socket is not None and (path != self._path or self._pid != os.getpid()):
            self._socket.close()
            self._socket = None
        if self._socket is None:
            self._open(path)
        return self._socket

    def _open(self, path: str) -> None:
        made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        made.setblocking(False)
        self._inbox = _bind(made)
        self._socket, self._path, self._pid = made, path, os.getpid()
        if self._listening:
            try:
                made.sendto(b"listen", path)
            except OSError:
                pass


def inbox(pid: int) -> str:
    """Where process `pid` can be asked for a census."""
    base = os.environ.get("XDG_RUNTIME_DIR") or "/tmp"
    return os.path.join(base, f"plimsoll-{os.getuid()}", str(pid))


def _bind(made: socket.socket) -> str:
    """Binds to the inbox of this process, in a folder only this user may enter; else to a name the kernel chooses."""
    path = inbox(os.getpid())
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        state = os.lstat(folder)
        if state.st_uid != os.getuid() or state.st_mode & 0o077:
            raise PermissionError(folder)
        _unlink(path)
        made.bind(path)
        return path
    except OSError:
        made.bind("")
        return ""


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass


@dataclass(frozen=True)
class Pressure:
    """What the guard said: the level it has reached, and why."""

    level: str
    used_bytes: int
    limit_bytes: int
    reason: str


def parse_pressure(text: str) -> Optional[Pressure]:
    """A guard's message, or None for anything else."""
    fields = parse_object(text)
    if "guard" not in fields:
        return None
    try:
        return Pressure(
            str(fields["guard"]),
            int(fields.get("used_bytes") or 0),
            int(fields.get("limit_bytes") or 0),
            str(fields.get("reason", "")),
        )
    except (ValueError, TypeError):
        return None


def parse_object(text: str) -> Dict[str, Any]:
    """A JSON object, or an empty one for anything else."""
    try:
        fields = json.loads(text)
    except ValueError:
        return {}
    return fields if isinstance(fields, dict) else {}


Callback = Callable[[Pressure], Optional[int]]
