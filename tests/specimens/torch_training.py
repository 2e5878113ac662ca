"""A small PyTorch training run: `leak` keeps the loss with its graph (the classic mistake), `clean` keeps only the number."""
import os
import sys

import torch

import specimen

torch.set_num_threads(1)
torch.manual_seed(1)
keep = sys.argv[1] == "leak"
if keep:
    specimen.confess()
net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 8))
optimizer = torch.optim.AdamW(net.parameters(), 1e-3)
losses = []
run = specimen.Run(printed=True)
for step in run:
    x = torch.randn(160, 64)
    loss = torch.nn.functional.cross_entropy(net(x), x[:, :8].argmax(1))
    optimizer.zero_grad(set_to_none=True)
    loss.backward(retain_graph=keep)
    optimizer.step()
    losses.append(loss if keep else loss.item())
    if step % 60 == 0:
        with torch.no_grad():
            net(torch.randn(20_000, 64))
os._exit(0)  # taking thousands of graphs apart would be seconds in which nothing grows
