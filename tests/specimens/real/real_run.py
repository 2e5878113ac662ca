"""What the real programs share: a loop of a given length that paces itself, tells its steps the way programs do, and writes
down the truth about what it lost.

Environment: REAL_SECONDS (length of the loop), REAL_PACE (seconds a step takes at least), REAL_SEED (draws sizes), REAL_EPOCHS, REAL_TELL
(socket, text, tqdm, dictionary, buffered or nothing), REAL_TRUTH (the file the truth goes to). With REAL_BY=steps the loop ends after
REAL_SECONDS / REAL_PACE steps, though they take up to four times as long on a busy machine, and epochs are counted in steps: how much of its
run a program fills or leaks then does not depend on what else the machine does.

The truth is a JSON object: `marks`, a list of [monotonic seconds, step, bytes lost so far, bytes held]. What is lost is
counted by the program; what it holds (anonymous and shared memory, its children included) it reads itself at the end of a step,
when nothing of the step is left. The two differ where what is lost keeps the allocator from using the space around it again: the
rate of a leak is taken from what is held, and that it is a leak from what is lost."""
import json
import mmap
import os
import random
import socket
import struct
import sys
import time


def held():
    """Bytes of anonymous and shared memory of this process and those it has forked, shared pages counted once."""
    total, pending = 0, [os.getpid()]
    while pending:
        pid = pending.pop()
        try:
            with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
                total += sum(int(line.split()[1]) for line in file if line.startswith(("Pss_Anon:", "Pss_Shmem:")))
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                    pending += map(int, file.read().split())
        except OSError:
            pass  # it has ended
    return total * 1024


class Losses:
    """Bytes lost, counted by several processes: made before they are forked."""

    def __init__(self, places=16):
        self.memory = mmap.mmap(-1, 8 * places)

    def add(self, place, count):
        (before,) = struct.unpack_from("q", self.memory, 8 * place)
        struct.pack_into("q", self.memory, 8 * place, before + count)

    def total(self):
        return sum(struct.unpack(f"{len(self.memory) // 8}q", self.memory))


class Run:
    def __init__(self):
        self.seconds = float(os.environ.get("REAL_SECONDS", "120"))
        self.pace = float(os.environ.get("REAL_PACE", "0.1"))
        self.told = os.environ.get("REAL_TELL", "socket")
        self.random = random.Random(int(os.environ.get("REAL_SEED", "1")))
        self.epochs = int(os.environ.get("REAL_EPOCHS", "0"))  # told at even times, unless the program tells its own
        self.by_steps = os.environ.get("REAL_BY") == "steps"
        self.losses = Losses()
        self.step = 0
        self.marks = []
        self.expected = int(self.seconds / self.pace)
        # How much is lost over the whole run: 8 to 70 % of what the program holds.
        self.share = 0.08 * (0.7 / 0.08) ** self.random.random()
        path = os.environ.get("PLIMSOLL_SOCKET")
        self.socket = None
        if path and self.told == "socket":
            self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self.socket.connect(path)

    def size(self, low, high):
        """A size drawn once for this seed, evenly in its logarithm."""
        return int(low * (high / low) ** self.random.random())

    def each(self, base, every=1):
        """Bytes to lose at a time, at every `every`-th step, in a program that holds `base` megabytes."""
        return int(self.share * base * 1e6 * every / self.expected)

    def __iter__(self):
        begin, epoch = time.monotonic(), 0
        while True:
            started = time.monotonic()
            done = self.step / self.expected if self.by_steps else (started - begin) / self.seconds
            if done >= 1 or started - begin > 4 * self.seconds:
                break
            if self.epochs and int(done * self.epochs) >= epoch:
                epoch += 1
                self.epoch(epoch)
            yield self.step
            self.step += 1
            self._tell_step()
            if not self.marks or started - self.marks[-1][0] > 1:
                self._mark()
            time.sleep(max(0.0, self.pace - (time.monotonic() - started)))
        self._mark()

    def lose(self, count):
        self.losses.add(0, count)

    def phase(self, name):
        if self.told in ("text", "buffered"):
            print({"validate": "Validating ...", "train": "Training"}.get(name, name), flush=True)
        self._send(f"phase {name}")

    def epoch(self, number):
        self._send(f"epoch {number}")

    def finish(self):
        """Writes the truth."""
        path = os.environ.get("REAL_TRUTH")
        if path:
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"marks": self.marks}, file)
        sys.stdout.flush()

    def _print_buffered(self, line):
        """As output to a pipe is held back, whatever PYTHONUNBUFFERED says."""
        self.pending = getattr(self, "pending", "") + line
        if len(self.pending) > 4096:
            sys.stdout.write(self.pending)
            sys.stdout.flush()
            self.pending = ""

    def _mark(self):
        self.marks.append([round(time.monotonic(), 3), self.step, self.losses.total(), held()])

    def _send(self, words):
        if self.socket:
            try:
                self.socket.send(words.encode())
            except OSError:
                pass  # nobody listens

    def _tell_step(self):
        self._send(f"step {self.step}")
        if self.told == "text" and self.step % 5 == 0:
            print(f"Iter {self.step:5d}/{self.expected} | Loss: {3 / (self.step + 1) + 1:.4f}", flush=True)
        elif self.told == "buffered" and self.step % 5 == 0:
            self._print_buffered(f"Iter {self.step:5d}/{self.expected} | Loss: {3 / (self.step + 1) + 1:.4f}\n")
        elif self.told == "tqdm":
            share = min(99, 100 * self.step // max(1, self.expected))
            sys.stderr.write(f"\r{share:3d}%|{'#' * (share // 10):<10}| {self.step}/{self.expected} [00:01<00:01, 9.9it/s]")
            sys.stderr.flush()
        elif self.told == "dictionary" and self.step % 25 == 0:
            print({"loss": 3 / self.step + 1, "learning_rate": 5e-05, "epoch": round(self.step / 500, 2)}, flush=True)


def main(loops):
    """Runs the loop named on the command line: a function of a Run."""
    run = Run()
    loops[sys.argv[1]](run)
    run.finish()
    if run.random.random() < 0.5:
        os._exit(0)  # half of the programs end at once, the others take themselves apart
