"""Starts a watcher of this process and its children, and asks it for its verdict."""

from __future__ import annotations

import atexit
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

from . import _program, _steps

_START_SECONDS = 10.0
_END_SECONDS = 20.0


@dataclass(frozen=True)
class Verdict:
    """The watcher's answer. `answer` is "leak", "no-leak" or "undecided"; `json` has every field of the program's.

    `culprit` is the process that grows, and `line` the line of source that holds more and more, where the run is profiled.
    """

    answer: str
    sentence: str
    bytes_per_second: float = 0.0
    bytes_per_step: Optional[float] = None
    seconds_to_limit: Optional[float] = None
    culprit: Optional[str] = None
    line: Optional[str] = None
    json: Dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def leak(self) -> bool:
        return self.answer == "leak"

    def __str__(self) -> str:
        return self.sentence


def from_json(fields: Dict[str, Any]) -> Verdict:
    """What `plimsoll watch --json` and `plimsoll verdict --json` print."""
    culprit = fields.get("culprit")
    return Verdict(
        answer=str(fields.get("verdict", "undecided")),
        sentence=str(fields.get("sentence", "")),
        bytes_per_second=float(fields.get("rate_bytes_per_second") or 0.0),
        bytes_per_step=fields.get("rate_bytes_per_step"),
        seconds_to_limit=fields.get("seconds_to_limit"),
        culprit=(culprit or {}).get("name") if isinstance(culprit, dict) else culprit,
        line=fields.get("line"),
        json=fields,
    )


class Watcher:
    """One running `plimsoll watch --pid` of this process. It is no child of the process: it must not be part of the tree."""

    def __init__(self, program: str, options: List[str], out: Optional[str]) -> None:
        self.owner = os.getpid()
        self.folder = tempfile.mkdtemp(prefix="plimsoll-watch-")
        self.record = out or os.path.join(self.folder, "run.db")
        self.socket = os.path.join(self.folder, "steps")
        self.pid = 0
        self.final: Optional[Verdict] = None
        command = [
            program, "watch", "--pid", str(self.owner), "--socket", self.socket, "--out", self.record, "--json", "--quiet",
            *options,
        ]  # fmt: skip
        self._launch(command)

    def _launch(self, command: List[str]) -> None:
        """Starts the watcher by a short-lived process in between, so that it is adopted by init."""
        read, write = os.pipe()
        between = [sys.executable, "-S", "-c", _LAUNCH, str(write), *command]
        environment = {k: v for k, v in os.environ.items() if k not in ("PLIMSOLL_SOCKET", "LD_PRELOAD")}
        with open(os.path.join(self.folder, "out"), "wb") as out, open(os.path.join(self.folder, "err"), "wb") as err:
            done = subprocess.run(
                between, pass_fds=(write,), stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment, check=False
            )
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            text = pipe.read(32)
        self.pid = int(text) if done.returncode == 0 and text.strip().isdigit() else 0

    def started(self) -> bool:
        """Waits until the watcher listens; False where it has ended instead."""
        deadline = time.monotonic() + _START_SECONDS
        while self.pid and time.monotonic() < deadline:
            if os.path.exists(self.socket):
                return True
            if not _alive(self.pid):
                return False
            time.sleep(0.005)
        return False

    def error(self) -> str:
        """The last line the watcher wrote on standard error."""
        try:
            with open(os.path.join(self.folder, "err"), encoding="utf-8", errors="replace") as file:
                lines = file.read().strip().splitlines()
        except OSError:
            return ""
        return lines[-1] if lines else ""

    def end(self) -> Optional[Verdict]:
        """Ends the watcher and returns its final verdict."""
        if self.pid and self.final is None and self.owner == os.getpid():
            _signal(self.pid, signal.SIGINT)
            _wait(self.pid, _END_SECONDS)
            try:
                with open(os.path.join(self.folder, "out"), encoding="utf-8") as file:
                    self.final = from_json(json.loads(file.read().strip().splitlines()[-1]))
            except (OSError, ValueError, IndexError):
                _program.say_once(f"the watcher left no verdict: {self.error() or 'it was ended'}")
            shutil.rmtree(self.folder, ignore_errors=True)
            self.pid = 0
        return self.final


# Runs in the process in between: starts the watcher in a session of its own, tells its pid, and ends.
_LAUNCH = """
import os, subprocess, sys
child = subprocess.Popen(sys.argv[2:], start_new_session=True)
os.write(int(sys.argv[1]), b"%d" % child.pid)
os._exit(0)
"""

_watcher: Optional[Watcher] = None
_report = True


def watch(
    out: Optional[str] = None,
    interval: str = "1s",
    limit: Optional[str] = None,
    report: bool = True,
    serve: Optional[str] = None,
    sites: bool = False,
) -> bool:
    """Starts a watcher of this process and all its children; True where one watches from here on.

    `out` keeps the record (run.db) at that path, with the rank appended under torchrun, mpirun and srun. `limit` is the
    line not to cross, like "8GB" or "80%". With `report` the verdict is printed to standard error at exit. `serve` opens
    the live page at an address such as "127.0.0.1:8080". Under `plimsoll watch`, `guard` or `profile` nothing is started:
    that watcher is used.

    `sites` also finds the lines that hold the memory. For that a library must be loaded before Python is, so the script is
    started anew under `plimsoll profile`; it has to ask for it at its top level, before it has done anything.
    """
    global _watcher, _report
    _report = report
    if _watcher is not None and _watcher.owner == os.getpid():
        return True
    if os.environ.get("PLIMSOLL_SOCKET") and _watcher is None:
        return _steps.channel.open()
    program = _program.find()
    if program is None:
        _program.say_once(_program.MISSING)
        return False
    options = ["--interval", interval]
    if limit:
        options += ["--limit", limit]
    if serve:
        options += ["--serve", serve]
    if sites:
        _start_anew(program, options, _with_rank(out))
    watcher = Watcher(program, options, _with_rank(out))
    if not watcher.started():
        _program.say_once(f"the watcher could not be started: {watcher.error() or 'it ended at once'}")
        shutil.rmtree(watcher.folder, ignore_errors=True)
        return False
    _watcher = watcher
    os.environ["PLIMSOLL_SOCKET"] = watcher.socket
    atexit.register(_at_exit)
    return _steps.channel.open()


def _start_anew(program: str, options: List[str], out: Optional[str]) -> None:
    """Replaces this process by `plimsoll profile` of the same command; returns only where that would not be safe."""
    caller = sys._getframe(2)
    at_top = caller.f_code.co_name == "<module>" and caller.f_globals.get("__name__") == "__main__"
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    if not at_top or not script or threading.active_count() > 1 or sys.flags.interactive:
        _program.say_once(
            "the lines that hold memory are not known: call watch(sites=True) at the top level of the script, before it "
            "starts threads, or start it with `plimsoll profile -- python …`"
        )
        return
    tried = subprocess.run(
        [program, "profile", "--quiet", "--", sys.executable, "-S", "-c", ""], capture_output=True, text=True, check=False
    )
    if tried.returncode != 0:
        _program.say_once(
            f"the lines that hold memory are not known: {(tried.stderr.strip() or 'no reason given').splitlines()[-1]}"
        )
        return
    again: List[str] = [sys.executable, *list(getattr(sys, "orig_argv", [sys.executable, *sys.argv]))[1:]]
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(program, [program, "profile", "--quiet", *options, *(["--out", out] if out else []), "--", *again])


def verdict(seconds: float = 5.0) -> Optional[Verdict]:
    """The verdict so far; None where nobody watches, or the watcher did not answer within `seconds`."""
    if _watcher is not None and _watcher.final is not None:
        return _watcher.final
    fields = _steps.ask("verdict", "verdict", seconds)
    return None if fields is None else from_json(fields)


def stop() -> Optional[Verdict]:
    """Ends watching and returns the final verdict; the report at exit is then not printed."""
    global _report
    _report = False
    return _end()


def rank() -> Optional[int]:
    """This process's number among those of a distributed run, where the launcher says it."""
    for name in ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"):
        value = os.environ.get(name, "")
        if value.isdigit():
            return int(value)
    return None


def _with_rank(out: Optional[str]) -> Optional[str]:
    number = rank()
    if out is None or number is None:
        return out
    stem, ending = os.path.splitext(out)
    return f"{stem}-rank{number}{ending}"


def _end() -> Optional[Verdict]:
    if _watcher is None:
        return None
    _steps.close()
    if os.environ.get("PLIMSOLL_SOCKET") == _watcher.socket and _watcher.owner == os.getpid():
        del os.environ["PLIMSOLL_SOCKET"]
    return _watcher.end()


def _at_exit() -> None:
    if _watcher is None or _watcher.owner != os.getpid():
        return  # a forked child: the watcher is its parent's
    final = _end()
    if final is not None and _report:
        label = "" if rank() is None else f" (rank {rank()})"
        print(f"plimsoll{label}: {final.sentence}", file=sys.stderr)


def _alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def _wait(pid: int, seconds: float) -> None:
    """Waits for a process that is not our child."""
    try:
        handle = os.pidfd_open(pid)
    except (OSError, AttributeError):
        deadline = time.monotonic() + seconds
        while _alive(pid) and time.monotonic() < deadline:
            time.sleep(0.01)
    else:
        try:
            select.select([handle], [], [], seconds)
        finally:
            os.close(handle)
    if _alive(pid):
        _signal(pid, signal.SIGKILL)
