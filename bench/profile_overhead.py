#!/usr/bin/env python3
"""What profiling costs: the same program alone, under `plimsoll profile` and under other profilers, in turn.

    bench/profile_overhead.py [--rounds 5] [--only torch,loop,dicts] [--python PYTHON] [--alone]

Each program prints the processor time of its own loop and the most memory it held. Rounds alternate between the arms; shown are
medians, the median of the differences within a round, the memory and the size of the file that was written. memray, heaptrack and
tracemalloc are measured where they are installed; --alone leaves them out. The torch program needs PyTorch in PYTHON. Five rounds of
everything take some eight minutes on two quiet cores.
"""
import argparse
import glob
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PLIMSOLL = os.path.join(ROOT, "build", "plimsoll")

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
REPORT = 'print("cpu %.4f peak %d" % (time.process_time() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))\n'
DICTS = """
import resource, time
begin = time.process_time()
for i in range(8):
    keep = [{"a": k, "b": str(k), "c": [k, k + 1]} for k in range(150_000)]
""" + REPORT
TORCH = """
import resource, time
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
for i in range(10):
    step(i)
begin = time.process_time()
for i in range(150):
    step(i)
""" + REPORT


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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="torch,loop,dicts")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--alone", action="store_true", help="leave other profilers out")
    arguments = parser.parse_args()
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
                programs[name] = [arguments.python, write("program_" + name + ".py", {"dicts": DICTS, "torch": TORCH}[name])]
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
