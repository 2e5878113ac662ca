"""plimsoll profile --pid: attaching says what it can and harms nothing, however often and whatever the program is."""
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time

from interpreters import pythons
from watching import PLIMSOLL, Result, run_all

if not os.path.exists(os.path.join(os.path.dirname(PLIMSOLL), "libplimsoll_heap.so")):
    print("skipped: the library to preload is not built here")
    sys.exit(77)

LONG = "--long" in sys.argv
ONLY = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else None
ATTACHES = 1000 if LONG else 30  # over all kinds
TORCH = LONG  # importing it takes seconds

# Every program works in rounds that all give the same digest, until its standard input is closed, and prints the digest and how
# many rounds differed. A round allocates and frees, in its own way.
PYTHON = """
import hashlib, sys, threading, os
{setup}
def round():
{body}
stop = threading.Event()
threading.Thread(target=lambda: (os.read(0, 1), stop.set()), daemon=True).start()  # a lock of sys.stdin would be forked along
first, different, rounds = round(), 0, 0
print("ready", flush=True)
while not stop.is_set():
    different += round() != first
    rounds += 1
print(first, different, rounds > 0, flush=True)
"""
PLAIN = ("", "rows = [dict(a=i, b=str(i) * (i % 7), c=bytearray(i * 3)) for i in range(4000)]\n"
             "return hashlib.sha256(repr([(r['a'], r['b'], len(r['c'])) for r in rows]).encode()).hexdigest()")
THREADS = ("", "parts = [None] * 24\n"
               "def part(k):\n"
               "    parts[k] = sum(len(bytearray(1000 + (i * k) % 50_000)) for i in range(200))\n"
               "threads = [threading.Thread(target=part, args=(k,)) for k in range(24)]\n"
               "[t.start() for t in threads], [t.join() for t in threads]\n"
               "return hashlib.sha256(repr(parts).encode()).hexdigest()")
FORKS = ("", "codes = []\n"
             "for k in range(8):\n"
             "    child = os.fork()\n"
             "    if child == 0:\n"
             "        os._exit(sum(len(bytearray(5000 * (i + k))) for i in range(40)) % 251)\n"
             "    codes.append(os.waitpid(child, 0)[1])\n"
             "return hashlib.sha256(repr(codes).encode()).hexdigest()")
LOADER = ("import torch\n"
          "from torch.utils.data import DataLoader, TensorDataset\n"
          "torch.set_num_threads(1)\n"
          "data = TensorDataset(torch.arange(512.).view(64, 8))",
          "torch.manual_seed(3)\n"
          "net = torch.nn.Linear(8, 8)\n"
          "optimizer = torch.optim.AdamW(net.parameters())\n"
          "for (batch,) in DataLoader(data, batch_size=8, num_workers=2):\n"
          "    optimizer.zero_grad(), net(batch).square().mean().backward(), optimizer.step()\n"
          "return hashlib.sha256(net.weight.detach().numpy().tobytes()).hexdigest()")

NATIVE = r"""
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void* part(void* seed) {
  uint64_t s = (uintptr_t)seed * 2654435761u + 88172645463325252ull, digest = 0;
  static __thread char* slot[256];
  for (int i = 0; i < 40000; ++i) {
    s ^= s << 13, s ^= s >> 7, s ^= s << 17;
    char** block = &slot[s & 255];
    if (*block) digest = digest * 31 + (unsigned char)**block;
    free(*block);
    const size_t size = 16 + (s >> 20) % 20000;
    *block = i % 3 ? malloc(size) : realloc(NULL, size);
    memset(*block, (int)(s >> 40), size);
  }
  for (int i = 0; i < 256; ++i) free(slot[i]), slot[i] = NULL;
  return (void*)(uintptr_t)digest;
}
static uint64_t once(void) {
  pthread_t threads[4];
  uint64_t digest = 0;
  for (uintptr_t i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, part, (void*)i);
  for (int i = 0; i < 4; ++i) {
    void* got;
    pthread_join(threads[i], &got);
    digest = digest * 1000003 + (uintptr_t)got;
  }
  return digest;
}
int main(void) {
  const uint64_t first = once();
  long different = 0, rounds = 0;
  puts("ready"), fflush(stdout);
  struct pollfd in = {0, POLLIN | POLLHUP, 0};
  while (poll(&in, 1, 0) == 0) different += once() != first, ++rounds;
  printf("%016llx %ld %s\n", (unsigned long long)first, different, rounds > 0 ? "True" : "False");
}
"""


def python_program(folder, name, parts):
    path = os.path.join(folder, name + ".py")
    with open(path, "w") as file:
        file.write(PYTHON.format(setup=parts[0], body=textwrap.indent(parts[1], "    ")))
    return path


def native_program(folder, name, *flags):
    source, program = os.path.join(folder, "native.c"), os.path.join(folder, name)
    with open(source, "w") as file:
        file.write(NATIVE)
    compiler = shutil.which("cc")
    if not compiler or subprocess.run([compiler, "-O2", "-pthread", source, "-o", program, *flags], stderr=subprocess.DEVNULL).returncode:
        return None
    return program


def programs(folder):
    """Name, command, whether the library is preloaded to sleep."""
    for python in pythons():
        yield os.path.basename(os.path.dirname(os.path.dirname(python))) or "system", [python, python_program(folder, "plain", PLAIN)], True
    yield "plain, nothing preloaded", [sys.executable, python_program(folder, "plain", PLAIN)], False
    yield "threads", [sys.executable, python_program(folder, "threads", THREADS)], True
    yield "forks", [sys.executable, python_program(folder, "forks", FORKS)], True
    if TORCH and subprocess.run([sys.executable, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode == 0:
        yield "DataLoader", [sys.executable, python_program(folder, "loader", LOADER)], True
    for name, flags in (("native", ()), ("static", ("-static",)), ("jemalloc", ("-l:libjemalloc.so.2",))):
        if program := native_program(folder, name, *flags):
            yield name, [program], True


def start(command, dormant):
    process = subprocess.Popen([PLIMSOLL, "profile", "--dormant", "--", *command] if dormant else command, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n", process.stderr.read()
    return process


def attach(pid, *options):
    done = subprocess.run([PLIMSOLL, "profile", "--pid", str(pid), "--json", "--quiet", *options], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=120)
    return Result(done.returncode, done.stdout, done.stderr)


def finish(process, rounds=True):
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, (process.returncode, out, err)
    digest, different, worked = out.split()
    assert different == "0" and (worked == "True" or not rounds), out
    return digest


def test_attaching_harms_nothing():
    with tempfile.TemporaryDirectory() as folder:
        kinds = [kind for kind in programs(folder) if ONLY in (None, kind[0])]
        each, total = -(-ATTACHES // (len(kinds) if ONLY is None else 12)), 0
        for name, command, dormant in kinds:
            expected = finish(start(command, False), rounds=False)
            process, woken = start(command, dormant), 0
            for i in range(each):
                result = attach(process.pid, "--for", "100ms", "--interval", "30ms", "--rate", "16KiB")
                assert result.code == 0, (name, result.err.decode())
                attached = result.json["attached"]
                woken += attached["way"] == "preload"
                assert process.poll() is None, (name, i)
            total += each
            assert finish(process) == expected, name
            assert woken == (each if dormant and name != "static" else 0), (name, woken, each)
            print(f"{name}: {each} attaches", flush=True)
        return f"{total} attaches to {len(kinds)} kinds"


# Leaks from the beginning; what it does before somebody attaches is not seen.
LEAK = """
import sys, time
kept = []
def grow():
    kept.append(bytearray(200_000))  # the leak
print("ready", flush=True)
while True:
    grow()
    time.sleep(0.02)
"""


# The same in C++, whose library allocates before the preloaded one has begun.
NATIVE_LEAK = """
#include <unistd.h>
#include <cstdio>
#include <vector>
std::vector<std::vector<char>> kept;
__attribute__((noinline)) void grow() { kept.emplace_back(200'000, 'x'); }
int main() {
  std::puts("ready"), std::fflush(stdout);
  for (;;) grow(), usleep(20'000);
}
"""


@contextlib.contextmanager
def leaking(dormant, native=False):
    """The path of a leaking program and its process, which ends with the block."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "leak.cpp" if native else "leak.py")
        with open(path, "w") as file:
            file.write(NATIVE_LEAK if native else LEAK)
        command = [sys.executable, path]
        if native:
            command = [os.path.join(folder, "leak")]
            subprocess.run(["c++", "-std=c++17", "-g", path, "-o", *command], check=True)
        process = start(command, dormant)
        try:
            yield path, process
        finally:
            process.kill()
            process.wait()


def test_a_sleeping_library_names_the_line():
    with leaking(True) as (path, process):
        for _ in range(2):  # the second watcher finds it asleep again
            result = attach(process.pid, "--for", "6s", "--interval", "100ms", "--rate", "64KiB")
            site = result.json["sites"][0]
            assert (site["file"], site["line"], site["function"]) == (path, 5, "grow"), site
            assert result.json["answer"] == "leak" and result.json["attached"]["way"] == "preload", result.json
            assert b"woke the preloaded library in 1 process" in result.err, result.err.decode()


def test_a_library_that_sleeps_in_a_cpp_program_wakes_up():
    if not shutil.which("c++"):
        return "skipped: no compiler"
    with leaking(True, native=True) as (path, process):
        result = attach(process.pid, "--for", "4s", "--interval", "100ms", "--rate", "64KiB")
        site = result.json["sites"][0]
        assert site["file"] == path and "grow" in site["function"], site
        assert site["bytes"] > 1e6 and site["none_freed"], site


def test_after_a_watcher_was_killed_another_one_can_attach():
    with leaking(True) as (path, process):
        first = subprocess.Popen([PLIMSOLL, "profile", "--pid", str(process.pid), "--quiet", "--interval", "100ms"],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(1)
        first.send_signal(signal.SIGKILL)
        first.wait()
        result = attach(process.pid, "--for", "4s", "--interval", "100ms", "--rate", "64KiB")
        assert (result.json["sites"][0]["file"], result.json["sites"][0]["line"]) == (path, 5), result.json["sites"][:2]


def test_from_outside_nothing_is_claimed():
    with leaking(False) as (path, process):
        result = attach(process.pid, "--for", "4s", "--interval", "100ms")
        attached = result.json["attached"]
        assert attached["way"] == "outside" and result.json["sites"] == [], result.json
        assert result.json["answer"] in ("leak", "undecided"), result.json["answer"]
        grown = {mapping["kind"]: mapping["grown_bytes"] for mapping in attached["mappings"]}
        assert grown["heap and other anonymous memory"] > 5e6, grown
        assert {line["file"] for line in attached["running"]} == {path}, attached["running"]
        assert {line["line"] for line in attached["running"]} <= {5, 8, 9}, attached["running"]
        assert b"nothing was put into it" in result.err, result.err.decode()
        malloc = attached["malloc"]
        assert malloc["arenas"] >= 1 and 0 < malloc["free_bytes"] < malloc["system_bytes"] < 100e6, malloc
        assert b"malloc of glibc: " in result.err, result.err.decode()


def test_ptrace_is_refused():
    done = subprocess.run([PLIMSOLL, "profile", "--pid", str(os.getpid()), "--ptrace"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 2 and done.stderr.count(b"\n") == 1 and b"--dormant" in done.stderr, done


run_all(dict(globals()))
