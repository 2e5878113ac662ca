"""Runs `plimsoll watch` for tests: the program, its specimens, and one function to call it."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import traceback

PLIMSOLL = sys.argv[1]
SPECIMENS = os.environ.get("PLIMSOLL_SPECIMENS", os.path.join(os.path.dirname(PLIMSOLL), "specimens"))
PYTHON = os.path.realpath(sys.executable)  # a shim would add processes of its own

with open(PLIMSOLL, "rb") as program:
    content = program.read()
    SANITIZED = b"__asan_init" in content or b"__tsan_init" in content  # its memory is the sanitizer's, not ours

KEYS = ["verdict", "rate_bytes_per_second", "rate_interval", "rate_bytes_per_step", "floor_start_bytes", "floor_end_bytes",
        "onset_seconds", "seconds_to_limit", "limit_bytes", "culprit", "spikes", "samples", "sentence"]


def python(code):
    return [PYTHON, "-u", "-c", textwrap.dedent(code)]


def documented(found):
    """The documented keys are there, in their order; others may stand between them."""
    return [key for key in found if key in KEYS] == KEYS


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def json(self):
        return json.loads(self.out.decode().rstrip("\n").split("\n")[-1])


def watch(*arguments, timeout=120, **options):
    done = subprocess.run([PLIMSOLL, "watch", *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout, **options)
    return Result(done.returncode, done.stdout, done.stderr)


def handles_interrupts(process):
    """Whether it has got far enough to catch or await SIGINT; also true where it has ended."""
    try:
        with open(f"/proc/{process.pid}/status", encoding="utf-8") as status:
            masks = [int(line.split()[1], 16) for line in status if line.startswith(("SigBlk:", "SigCgt:"))]
    except OSError:
        return True
    return any(mask & 1 << (signal.SIGINT - 1) for mask in masks) or process.poll() is not None


def start(*arguments, **options):
    """Watches in the background; has begun when this returns, however busy the machine is."""
    process = subprocess.Popen([PLIMSOLL, "watch", *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    while not handles_interrupts(process):
        time.sleep(0.01)
    return process


def finish(process, timeout=60):
    out, err = process.communicate(timeout=timeout)
    return Result(process.returncode, out, err)


def run_all(namespace):
    """Runs every test_ function, prints what failed, exits accordingly."""
    failed = 0
    for name, test in list(namespace.items()):
        if not name.startswith("test_"):
            continue
        begin = time.monotonic()
        try:
            said = test()
            print(f"ok   {name} ({time.monotonic() - begin:.1f} s) {said or ''}", flush=True)
        except Exception:
            failed += 1
            print(f"FAIL {name}", flush=True)
            traceback.print_exc(file=sys.stdout)
    sys.exit(1 if failed else 0)
