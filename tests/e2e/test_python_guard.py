#!/usr/bin/env python3
"""A PyTorch loop in a control group that a neighbour fills: the guard asks it to shrink, it halves its micro-batch and
doubles the accumulation (docs/python.md), the kernel kills nothing, and the losses are those of an undisturbed run."""
import tempfile

from guarding import Group
from harness import PROGRAM, Path, environment, json, needs_plain_memory, os, skip, subprocess, sys

LIMIT = 800_000_000
STEPS = 40
NEIGHBOUR = 230_000_000

# What docs/python.md shows, with a model whose activations are large beside its weights. From the tenth step on a
# neighbour in the same group takes memory with every step: steps lie between the lines of the guard on a slow machine too.
SCRIPT = f"""
import ctypes, json, subprocess, sys
import torch
import plimsoll

batch, accumulate = 16384, 1
events = []

@plimsoll.on_pressure
def shrink(event):
    global accumulate
    events.append(event.level)
    if event.level != "shrink" or accumulate == 32:
        return 0
    before = resident()
    accumulate *= 2
    ctypes.CDLL(None).malloc_trim(0)
    return max(1, before - resident())

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096

torch.manual_seed(1)
torch.set_num_threads(1)
layers = torch.nn.ModuleList([torch.nn.Linear(128, 128) for _ in range(10)])
teacher = torch.nn.Linear(128, 128)
optimizer = torch.optim.Adam(layers.parameters(), lr=1e-3)

def model(hidden):
    for layer in layers:
        hidden = hidden + torch.nn.functional.gelu(layer(hidden))
    return hidden

neighbour = None
losses, micro = [], []
for step in plimsoll.steps(range({STEPS})):
    if step == 10 and sys.argv[1] == "squeezed":
        neighbour = subprocess.Popen([sys.executable, "-S", "-c", "import sys\\nkept=[]\\n"
            "for line in sys.stdin: kept.append(bytearray(b'x')*{NEIGHBOUR // 20}); print(flush=True)"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    if neighbour and step < 30:
        neighbour.stdin.write(b"more\\n")
        neighbour.stdin.flush()
        neighbour.stdout.readline()
    inputs = torch.randn(batch, 128, generator=torch.Generator().manual_seed(step))
    with torch.no_grad():
        targets = teacher(inputs)
    optimizer.zero_grad()
    total = 0.0
    for part, wanted in zip(inputs.chunk(accumulate), targets.chunk(accumulate)):
        loss = (model(part) - wanted).pow(2).mean() / accumulate
        loss.backward()
        total += float(loss.detach())
    optimizer.step()
    losses.append(total)
    micro.append(batch // accumulate)
if neighbour:
    neighbour.kill()
print(json.dumps({{"losses": losses, "micro": micro, "events": events}}))
"""


def run(script, how, group=None):
    command = [sys.executable, script, how]
    if group:
        command = [PROGRAM, "guard", "--json", "--", *command]
    done = subprocess.run(command, preexec_fn=group.enter if group else None, capture_output=True, text=True, timeout=600,
                          env={**environment(), "PYTHONPATH": str(Path(__file__).resolve().parents[2] / "python"),
                               "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, (done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")], done.stderr


def main():
    if subprocess.run([sys.executable, "-c", "import torch"], capture_output=True).returncode:
        skip("there is no PyTorch")
    with tempfile.TemporaryDirectory(prefix="plimsoll-shrink-") as folder:
        script = os.path.join(folder, "loop.py")
        Path(script).write_text(SCRIPT)
        alone = run(script, "alone")[0][0]
        with Group(LIMIT) as group:
            (squeezed, report), said = run(script, "squeezed", group)
            kills = group.kills()
    assert kills == 0, f"the kernel killed {kills} times\n{said}"
    assert "shrink" in squeezed["events"], (squeezed["events"], said)
    assert squeezed["micro"][0] == alone["micro"][0] > squeezed["micro"][-1], squeezed["micro"]
    assert not report["stopped"], report
    worst = max(abs(a - b) / abs(a) for a, b in zip(alone["losses"], squeezed["losses"]))
    assert len(squeezed["losses"]) == STEPS and worst < 1e-3, (worst, alone["losses"], squeezed["losses"])
    print(f"micro-batch {squeezed['micro'][0]} -> {squeezed['micro'][-1]}, levels {squeezed['events']}, 0 kernel kills, loss "
          f"{squeezed['losses'][0]:.4f} -> {squeezed['losses'][-1]:.4f}, at most {worst:.1e} from the undisturbed run")


needs_plain_memory("PyTorch")
main()
