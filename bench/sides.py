"""The two sides of the benchmark, Plimsoll and PyTorch, and the machine: how each side is asked to measure itself."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
TORCH_VERSION = "2.13.0"
TICKS = os.sysconf("SC_CLK_TCK")
LONGEST_RUN = 1800  # seconds after which a measurement counts as hung


# What keeps PyTorch and the libraries it calls to an instruction set. (MKL picks AVX2 on other makers' processors anyway.)
PEER_ISA = {
    "auto": {},
    "avx2": {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"},
    "avx512": {"ATEN_CPU_CAPABILITY": "avx512", "ONEDNN_MAX_CPU_ISA": "AVX512_CORE", "MKL_ENABLE_INSTRUCTIONS": "AVX512"},
}


class Failed(Exception):
    """A side could not measure; the message is one line."""


def last_json_line(text):
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            return json.loads(line)
    raise Failed("no JSON in its output")


class Plimsoll:
    """Every measurement is a process of its own: start-up is cheap, and peak RSS is then that of this measurement alone."""

    def __init__(self, program, threads, isa="auto"):
        self.program, self.threads, self.isa = str(program), threads, isa

    def call(self, *arguments):
        command = [self.program, *map(str, arguments), "--json"]
        try:
            environment = {**os.environ} | ({} if self.isa == "auto" else {"PLIMSOLL_ISA": self.isa})
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LONGEST_RUN)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Failed(str(error)) from error
        if done.returncode != 0:
            reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise Failed(f"`plimsoll {' '.join(command[1:])}` left with code {done.returncode}: {reason}")
        return last_json_line(done.stdout)

    def version(self):
        done = subprocess.run([self.program, "--version"], capture_output=True, text=True)
        return done.stdout.strip() or "unknown"

    def bench(self, name, seconds):
        return self.call("bench", "--config", name, "--threads", self.threads, "--seconds", seconds)

    def bench_shape(self, shape, seconds):
        flags = [word for field, value in shape.items() for word in (f"--{field}", value)]
        return self.call("bench", *flags, "--threads", self.threads, "--seconds", seconds)

    def generate(self, name, seconds):
        return self.call("bench", "--generate", "--config", name, "--threads", self.threads, "--seconds", seconds)

    def train(self, preset, iterations):
        with tempfile.TemporaryDirectory() as folder:
            arguments = ("train", f"--{preset}", iterations, "--threads", self.threads, "--out", f"{folder}/run")
            return self.call(*arguments)

    def time_to_first_step(self):
        """Seconds from the command to the end of the first step as `train --tiny 1` reports them; else by the wall clock to the
        end of the process, an upper bound that includes saving."""
        begin = time.perf_counter()
        reported = self.train("tiny", 1)
        return reported.get("time_to_first_step", time.perf_counter() - begin)


class Torch:
    """One served PyTorch process: it pays its start-up once and measures whenever it is asked."""

    def __init__(self, python, name, mode, threads, generate=False, isa="auto"):
        self.mode = mode
        command = [python, str(HERE / "torch_gpt.py"), "--serve", "--config", name, "--mode", mode]
        command += ["--threads", str(threads)] + (["--generate"] if generate else [])
        self.errors = tempfile.TemporaryFile(mode="w+")
        self.process = subprocess.Popen(
            command,
            env={**os.environ, **PEER_ISA[isa]},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
        )
        try:
            self.ready = self.answer()
        except Failed:
            self.close()
            raise

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            self.errors.seek(0)
            raise Failed((self.errors.read().strip().splitlines() or ["PyTorch's process ended"])[-1])
        return json.loads(line)

    def measure(self, seconds):
        self.process.stdin.write(f"seconds {seconds}\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self):
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.errors.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def find_torch(install):
    """The first of $PLIMSOLL_PYTHON, build/venv and python3 that can import torch, and its version; (None, None) if none can."""
    venv = ROOT / "build" / "venv"
    if install and not (venv / "bin" / "python").exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        subprocess.run([str(venv / "bin" / "pip"), "install", f"torch=={TORCH_VERSION}"], check=True, stdout=sys.stderr)
    for python in (os.environ.get("PLIMSOLL_PYTHON"), str(venv / "bin" / "python"), "python3"):
        if not python:
            continue
        with contextlib.suppress(OSError):
            probe = [python, "-c", "import torch; print(torch.__version__)"]
            done = subprocess.run(probe, capture_output=True, text=True)
            if done.returncode == 0:
                return python, done.stdout.strip()
    return None, None


@contextlib.contextmanager
def busy_process():
    """One process that computes without end on the same cores."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        time.sleep(0.3)
        yield process.pid
    finally:
        process.kill()
        process.wait()


def machine_busy_seconds():
    """Processor seconds spent by everything on this machine, those stolen by its host included."""
    with open("/proc/stat") as stat:
        user, nice, system, _, _, irq, softirq, steal = map(int, stat.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / TICKS


def process_seconds(pid):
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


class OtherWork:
    """Share of one core that went to processes which are neither ours nor PyTorch's while the block ran."""

    def __init__(self, servers=()):
        self.pids = [server.process.pid for server in servers]

    def spent(self):
        own = os.times()
        known = own.user + own.system + own.children_user + own.children_system
        return machine_busy_seconds() - known - sum(map(process_seconds, self.pids))

    def __enter__(self):
        self.begin, self.before = time.perf_counter(), self.spent()
        return self

    def __exit__(self, *_):
        elapsed = time.perf_counter() - self.begin
        self.share = max(0.0, (self.spent() - self.before) / elapsed)
