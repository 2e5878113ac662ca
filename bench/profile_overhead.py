#!/usr/bin/env python3
"""What profiling costs: the same program alone, under `plimsoll profile` and under other profilers, in turn.

    bench/profile_overhead.py [--rounds 9] [--only loop,dicts,torch] [--python PYTHON]

Each program prints the processor time of its own loop; medians over the rounds and the median of the paired differences
are shown. The torch program needs PyTorch in PYTHON; memray and heaptrack are used where they are installed.
"""
import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PLIMSOLL = os.path.join(ROOT, "build", "plimsoll")

LOOP = r"""
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
int main() {
  static void* slot[1024];
  uint64_t s = 88172645463325252ull;
  const clock_t begin = clock();
  for (long i = 0; i < 20000000; ++i) {
    s ^= s << 13, s ^= s >> 7, s ^= s << 17;
    void*& block = slot[s & 1023];
    free(block);
    block = malloc(16 + (s >> 20) % 4081);
    *static_cast<char*>(block) = 1;
  }
  std::printf("cpu %.4f\n", double(clock() - begin) / CLOCKS_PER_SEC);
}
"""
DICTS = """
import time
begin = time.process_time()
for i in range(12):
    keep = [{"a": k, "b": str(k), "c": [k, k + 1]} for k in range(150_000)]
print("cpu %.4f" % (time.process_time() - begin))
"""
TORCH = """
import time
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
print("cpu %.4f" % (time.process_time() - begin))
"""


def seconds(command, environment=None):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    found = re.search(r"cpu ([\d.]+)", done.stdout)
    if not found:
        raise SystemExit(f"{command}: {done.stdout[-500:]} {done.stderr[-500:]}")
    return float(found[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="loop,dicts,torch")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--others", action="store_true", help="measure memray, heaptrack and tracemalloc too")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        def write(name, text):
            path = os.path.join(folder, name)
            with open(path, "w") as file:
                file.write(text)
            return path
        programs = {}
        for name in arguments.only.split(","):
            if name == "loop":
                source, program = write("loop.cpp", LOOP), os.path.join(folder, "loop")
                subprocess.run(["c++", "-O2", source, "-o", program], check=True)
                programs[name] = [program]
            else:
                programs[name] = [arguments.python, write("program_" + name + ".py", {"dicts": DICTS, "torch": TORCH}[name])]
        for name, command in programs.items():
            arms = {"alone": command, "plimsoll": [PLIMSOLL, "profile", "--quiet", "--", *command]}
            if arguments.others:
                if name != "loop":
                    arms["tracemalloc"] = [command[0], "-X", "tracemalloc", *command[1:]]
                    memray = os.path.join(os.path.dirname(arguments.python), "memray")
                    if os.path.exists(memray):
                        arms["memray"] = [memray, "run", "-q", "-f", "-o", os.path.join(folder, "out.bin"), *command[1:]]
                        arms["memray native"] = [memray, "run", "-q", "-f", "--native", "-o", os.path.join(folder, "out.bin"), *command[1:]]
                if shutil.which("heaptrack"):
                    arms["heaptrack"] = ["heaptrack", "-o", os.path.join(folder, "heaptrack"), *command]
            times = {arm: [] for arm in arms}
            for _ in range(arguments.rounds):
                for arm, words in arms.items():
                    times[arm].append(seconds(words))
            alone = statistics.median(times["alone"])
            for arm, values in times.items():
                paired = statistics.median(v / a - 1 for v, a in zip(values, times["alone"]))
                print(f"{name:6} {arm:14} median {statistics.median(values):7.3f} s  {100 * (statistics.median(values) / alone - 1):+6.1f} %"
                      f"  paired {100 * paired:+6.1f} %  spread {min(values):.3f}-{max(values):.3f}", flush=True)


main()
