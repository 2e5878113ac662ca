#!/usr/bin/env python3
"""What profiling costs: the same program alone, under `plimsoll profile` and under other profilers, in turn.

    bench/profile_overhead.py [--rounds 5] [--only torch,loop,dicts] [--python PYTHON] [--alone]
    bench/profile_overhead.py --inside [--seconds 40] [--only torch,dicts] [--python PYTHON]
    bench/profile_overhead.py --interleaved [--pairs 8] [--rounds 40] [--core 1] [--only torch,dicts] [--python PYTHON]

Each program prints the processor time of its own loop and the most memory it held. Rounds alternate between the arms; shown are
medians, the median of the differences within a round, the memory and the size of the file that was written. memray, heaptrack and
tracemalloc are measured where they are installed; --alone leaves them out. The torch program needs PyTorch in PYTHON. Five rounds of
everything take some eight minutes on two quiet cores.

Whole runs differ by more than profiling costs, even on an idle machine: where the allocator and the kernel put what a process uses
changes its speed by some percent. Two other ways:
--inside has `perf` stop a profiled program 5,000 times for every second of processor time it uses, and shows how often it was
inside of the preloaded library. That counts no work of the kernel for it and no data it displaces from caches, but does not depend
on the load, and repeats to 0.05 %.
--interleaved has both programs, alone and profiled, alive at the same time on one core. They work in turn, a piece of some 0.1 s each:
whatever slows the machine down slows both. A pair gives the median of the ratios of neighbouring pieces; shown are the median of the
pairs and its 95 % interval by bootstrap over pairs and pieces.
"""
import argparse
import glob
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PLIMSOLL = os.environ.get("PLIMSOLL", os.path.join(ROOT, "build", "plimsoll"))

LOOP = r"""
#include <sys/resource.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
int main() {
  static void* slot[1024];
  uint64_t s = 88172645463325252ull;
  const clock_t begin = clock();
  for (long i = 0; i < ROUNDS; ++i) {
    s ^= s << 13, s ^= s >> 7, s ^= s << 17;
    void*& block = slot[s & 1023];
    free(block);
    block = malloc(16 + (s >> 20) % 4081);
    *static_cast<char*>(block) = 1;
  }
  rusage used;
  getrusage(RUSAGE_SELF, &used);
  std::printf("cpu %.4f peak %ld\n", double(clock() - begin) / CLOCKS_PER_SEC, used.ru_maxrss);
}
"""
DICTS = """
def work(times):
    for i in range(times):
        keep = [{"a": k, "b": str(k), "c": [k, k + 1]} for k in range(150_000)]
"""
TORCH = """
import torch
torch.set_num_threads(1)
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 1024), torch.nn.GELU(),
                          torch.nn.Linear(1024, 256))
optimizer = torch.optim.AdamW(net.parameters())
data = torch.randn(4096, 256)
def step(i):
    batch = data[(i * 128) % 3968:][:128]
    loss = (net(batch) - batch).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()
def work(times):
    for i in range(times):
        step(i)
work(10)
"""
PIECES = {"dicts": 1, "torch": 5}  # of work, some 0.1 s
WHOLE = {"dicts": 8, "torch": 150}
ALL = """
import resource, time
begin = time.process_time()
work(%d)
print("cpu %%.4f peak %%d" %% (time.process_time() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))
"""
IN_PIECES = """
import os, sys, time
with open(sys.argv[1]) as asked, open(sys.argv[2], "w", buffering=1) as told:
    told.write("%d\\n" % os.getpid())
    for line in asked:
        begin = time.process_time()
        work(int(line))
        told.write("%.6f\\n" % (time.process_time() - begin))
"""


def measured(command, folder, made):
    """Seconds, peak in MB and the size in MB of what `made` finds."""
    for path in glob.glob(os.path.join(folder, made)) if made else []:
        shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    found = re.search(r"cpu ([\d.]+) peak (\d+)", done.stdout)
    if not found:
        raise SystemExit(f"{command}: {done.stdout[-500:]} {done.stderr[-500:]}")
    written = sum(os.path.getsize(path) for path in glob.glob(os.path.join(folder, made))) if made else 0
    return float(found[1]), int(found[2]) / 1024, written / 1e6


def arms_of(name, command, folder, python, alone):
    """Name, command and the files it writes."""
    run = os.path.join(folder, "run.db")
    yield "alone", command, None
    yield "plimsoll", [PLIMSOLL, "profile", "--quiet", "--out", run, "--", *command], "run.db*"
    if alone:
        return
    if shutil.which("heaptrack"):
        yield "heaptrack", ["heaptrack", "-o", os.path.join(folder, "heaptrack"), *command], "heaptrack*"
    if name == "loop":
        return
    memray = os.path.join(os.path.dirname(python), "memray")
    if os.path.exists(memray):
        for words in ((), ("--native",)):
            yield " ".join(("memray", *words)), [memray, "run", "-q", "-f", *words, "-o", os.path.join(folder, "out.bin"),
                                                 *command[1:]], "out.bin"
    yield "tracemalloc", [command[0], "-X", "tracemalloc", *command[1:]], None


class InPieces:
    """A program that works when it is told to, and says how long that took it."""

    def __init__(self, folder, name, core, before, command):
        asked, told = (os.path.join(folder, f"{name}.{end}") for end in ("asked", "told"))
        for path in (asked, told):
            if os.path.exists(path):
                os.remove(path)
            os.mkfifo(path)
        self.process = subprocess.Popen([*before, "taskset", "-c", str(core), *command, asked, told], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True)
        self.asked, self.told = open(asked, "w", buffering=1, encoding="ascii"), open(told, encoding="ascii")
        self.pid = int(self.told.readline())

    def work(self, times):
        self.asked.write(f"{times}\n")
        return float(self.told.readline())

    def end(self):
        self.asked.close()
        _, error = self.process.communicate()
        if self.process.returncode:
            raise SystemExit(error[-500:])


def under_profile(folder):
    for path in glob.glob(os.path.join(folder, "run.db*")):
        os.remove(path)
    return [PLIMSOLL, "profile", "--quiet", "--out", os.path.join(folder, "run.db"), "--"]


def inside(name, command, folder, options):
    """How many samples perf took of the program, how many of them inside of the library, and its functions that took most."""
    program, data = InPieces(folder, "profiled", options.core, under_profile(folder), command), os.path.join(folder, "perf.data")
    program.work(PIECES[name])
    perf = subprocess.Popen(["perf", "record", "-q", "-e", "cpu-clock", "-F", "4999", "-o", data, "-p", str(program.pid)])
    time.sleep(1)  # until it has attached
    spent = 0.0
    while spent < options.seconds:
        spent += program.work(PIECES[name])
    perf.send_signal(signal.SIGINT)
    perf.wait()
    program.end()
    lines = subprocess.run(["perf", "report", "-q", "-i", data, "--sort", "dso,symbol", "-n", "-t", ";"], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True, check=True).stdout.split("\n")
    rows = [[field.strip() for field in line.split(";")] for line in lines if line.count(";") >= 3]
    own = [(int(row[1]), row[3].rsplit("::", 1)[-1]) for row in rows if "libplimsoll_heap" in row[2]]
    return sum(int(row[1]) for row in rows), sum(count for count, _ in own), own[:5]


def interleaved(name, command, folder, options):
    """For every pair of processes the ratios of neighbouring pieces."""
    pairs = []
    for number in range(options.pairs):
        order = [("alone", []), ("profiled", under_profile(folder))][::1 if number % 2 else -1]
        programs = {arm: InPieces(folder, arm, options.core, before, command) for arm, before in order}
        for program in programs.values():
            program.work(PIECES[name])
        ratios = []
        for turn in range(options.rounds):
            took = {arm: programs[arm].work(PIECES[name]) for arm in list(programs)[::1 if turn % 2 else -1]}
            ratios.append(took["profiled"] / took["alone"])
        for program in programs.values():
            program.end()
        pairs.append(ratios)
        print(f"{name}, pair {number + 1}: {100 * (statistics.median(ratios) - 1):+.2f} %", file=sys.stderr, flush=True)
    return pairs


def median_of_pairs(pairs):
    return statistics.median(statistics.median(ratios) for ratios in pairs)


def interval(pairs, draws=2000):
    generator = random.Random(1)
    drawn = sorted(median_of_pairs([generator.choices(ratios, k=len(ratios)) for ratios in generator.choices(pairs, k=len(pairs))])
                   for _ in range(draws))
    return drawn[int(0.025 * draws)], drawn[int(0.975 * draws)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, help="5, or 40 pieces of each with --interleaved")
    parser.add_argument("--only")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--alone", action="store_true", help="leave other profilers out")
    parser.add_argument("--inside", action="store_true")
    parser.add_argument("--seconds", type=float, default=40, help="of processor time, with --inside")
    parser.add_argument("--interleaved", action="store_true")
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--core", type=int, default=1)
    arguments = parser.parse_args()
    in_pieces = arguments.inside or arguments.interleaved
    arguments.only = arguments.only or ("torch,dicts" if in_pieces else "torch,loop,dicts")
    arguments.rounds = arguments.rounds or (40 if arguments.interleaved else 5)
    with tempfile.TemporaryDirectory() as folder:
        def write(name, text):
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            return path
        programs = {}
        for name in arguments.only.split(","):
            if name == "loop":
                source, program = write("loop.cpp", LOOP), os.path.join(folder, "loop")
                subprocess.run(["c++", "-O2", "-DROUNDS=20000000", source, "-o", program], check=True)
                programs[name] = [program]
            else:
                text = {"dicts": DICTS, "torch": TORCH}[name] + (IN_PIECES if in_pieces else ALL % WHOLE[name])
                programs[name] = [arguments.python, write("program_" + name + ".py", text)]
        if arguments.inside:
            print("| program | samples of perf | inside of the library | most of it in |\n|---|---|---|---|")
            for name, command in programs.items():
                samples, own, functions = inside(name, command, folder, arguments)
                share = ", ".join(f"`{function}` {100 * count / samples:.2f} %" for count, function in functions)
                print(f"| {name} | {samples} | {100 * own / samples:.2f} % | {share} |", flush=True)
            return
        if arguments.interleaved:
            print("| program | pairs of processes | pieces of each | median difference | 95 % interval |\n|---|---|---|---|---|")
            for name, command in programs.items():
                pairs = interleaved(name, command, folder, arguments)
                low, high = interval(pairs)
                print(f"| {name} | {len(pairs)} | {arguments.rounds} | {100 * (median_of_pairs(pairs) - 1):+.2f} % | "
                      f"{100 * (low - 1):+.2f} to {100 * (high - 1):+.2f} % |", flush=True)
            return
        print("| program | profiler | seconds | difference | median of the pairs | spread | peak MB | MB more | file MB |\n|---|---|---|---|---|---|---|---|---|")
        begin = time.monotonic()
        for name, command in programs.items():
            arms = {arm: (words, made) for arm, words, made in arms_of(name, command, folder, arguments.python, arguments.alone)}
            seen = {arm: [] for arm in arms}
            for number in range(arguments.rounds):
                # heaptrack takes half a minute for the loop of nothing but malloc: once is enough to see that.
                for arm, (words, made) in arms.items():
                    if number and name == "loop" and arm == "heaptrack":
                        continue
                    seen[arm].append(measured(words, folder, made))
            alone = [row[0] for row in seen["alone"]]
            base, base_peak = statistics.median(alone), statistics.median(row[1] for row in seen["alone"])
            for arm, rows in seen.items():
                times, peak = [row[0] for row in rows], statistics.median(row[1] for row in rows)
                paired = statistics.median(v / a - 1 for v, a in zip(times, alone))
                print(f"| {name} | {arm} | {statistics.median(times):.3f} | {100 * (statistics.median(times) / base - 1):+.1f} % | "
                      f"{100 * paired:+.1f} % | {min(times):.3f}-{max(times):.3f} | {peak:.0f} | {peak - base_peak:+.0f} | "
                      f"{max(row[2] for row in rows):.1f} |", flush=True)
        print(f"{arguments.rounds} rounds in {time.monotonic() - begin:.0f} s; the heap file of each process has 15.1 MB while it runs")


main()
