"""A loop with Accelerate that may leak.

accelerate_run.py FOLDER SAMPLES LEAK_BYTES
"""

import plimsoll

plimsoll.watch(sites=True, interval="200ms")

import sys  # noqa: E402
from typing import List  # noqa: E402

import torch  # noqa: E402
from accelerate import Accelerator  # noqa: E402

import plimsoll.accelerate  # noqa: E402

folder, samples, leak = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
kept: List[torch.Tensor] = []
accelerator = Accelerator(cpu=True, log_with=["tensorboard", "mlflow"], project_dir=folder)
accelerator.init_trackers("runs")
net = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 256))
optimizer = torch.optim.Adam(net.parameters())
batches = torch.utils.data.DataLoader(torch.randn(samples, 256), batch_size=64)
net, optimizer, batches = accelerator.prepare(net, optimizer, batches)
step, total = 0, 3 * len(batches)
for epoch in range(3):
    plimsoll.epoch(epoch + 1)
    for batch in batches:
        optimizer.zero_grad()
        accelerator.backward((net(batch) - batch).pow(2).mean())
        optimizer.step()
        if leak:
            kept.append(torch.ones(leak // 4))  # the leak
        step += 1
        plimsoll.step(step, total)
        plimsoll.accelerate.log(accelerator, step, every=50)
plimsoll.accelerate.log(accelerator, step, final=True)
accelerator.end_training()
