"""Shared by the Python specimens: a run of a given length in steps of 50 ms, reported over PLIMSOLL_SOCKET or printed."""
import os
import socket
import time


class Run:
    """Iterating gives step numbers until SPECIMEN_SECONDS (18 by default) are over."""

    def __init__(self, printed=False):
        self.seconds = float(os.environ.get("SPECIMEN_SECONDS", "18"))
        self.steps = int(self.seconds / 0.05)
        self.printed = printed
        self.begin = time.monotonic()
        self.step = 0
        self.path = os.environ.get("PLIMSOLL_SOCKET")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) if self.path and not printed else None

    def __iter__(self):
        while self.step < self.steps:
            self.step += 1
            time.sleep(max(0.0, self.begin + 0.05 * self.step - time.monotonic()))
            if self.step % 10 == 0:
                if self.printed:
                    print(f"Iter {self.step:5d}/{self.steps} | Loss: {3 / self.step + 1:.4f}", flush=True)
                else:
                    self.tell(f"step {self.step}")
            yield self.step

    @property
    def progress(self):
        return self.step / self.steps

    def phase(self, name):
        self.tell(f"phase {name}")

    def tell(self, words):
        if self.socket:
            try:
                self.socket.sendto(words.encode(), self.path)
            except OSError:
                pass  # nobody listens


def confess():
    """The process that really leaks says so, for the test to compare with the verdict."""
    path = os.environ.get("SPECIMEN_CULPRIT")
    if path:
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{os.getpid()}\n")


def model(megabytes):
    """Memory that is really touched."""
    return bytearray(os.urandom(4096) * (megabytes * 1_000_000 // 4096))
