"""The PyTorch side of the benchmark: the same GPT and the same step, written the way a PyTorch user would write it for speed.

    python3 bench/torch_gpt.py --config nano --threads 2                 one measurement, one JSON object
    python3 bench/torch_gpt.py --config nano --mode compile --serve     measures on request, one JSON line a request

A served process reads `steps N`, `seconds S` or `quit` from standard input, so that a driver can alternate rounds without
paying the start-up every time.
"""

import argparse
import json
import os
import statistics
import sys
import time

from configs import CONFIGS


def seconds_since_process_start():
    """Counts the interpreter and `import torch` too; the kernel keeps the start in hundredths of a second."""
    with open("/proc/self/stat") as stat:
        started = int(stat.read().rsplit(")", 1)[1].split()[19]) / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started


def peak_rss_bytes():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", choices=CONFIGS, default="nano")
    parser.add_argument("--mode", choices=("eager", "compile"), default="eager")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--steps", type=int, help="measure this many steps")
    parser.add_argument("--seconds", type=float, default=3.0, help="or for about this long")
    parser.add_argument("--generate", action="store_true", help="measure generation with a key-value cache at batch 1")
    parser.add_argument("--serve", action="store_true", help="measure on request from standard input")
    return parser.parse_args()


arguments = parse_arguments()
os.environ["OMP_NUM_THREADS"] = str(arguments.threads)  # before the import: the OpenMP runtime reads it once

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        d = config.dim
        self.heads = config.heads
        self.ln_1, self.ln_2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.attention, self.attention_out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def split(self, x):
        B, T, d = x.shape
        parts = self.attention(self.ln_1(x)).split(d, dim=2)
        return [part.view(B, T, self.heads, d // self.heads).transpose(1, 2) for part in parts]  # B H T d/H

    def finish(self, x, mixed):
        x = x + self.attention_out(mixed.transpose(1, 2).reshape(x.shape))
        return x + self.down(F.gelu(self.up(self.ln_2(x)), approximate="tanh"))

    def forward(self, x):
        q, k, v = self.split(x)
        return self.finish(x, F.scaled_dot_product_attention(q, k, v, is_causal=True))

    def decode(self, x, cache, position):
        """One token: x is 1 x 1 x d, cache holds keys and values of 1 x H x T x d/H."""
        q, k, v = self.split(x)
        keys, values = cache
        keys[:, :, position : position + 1] = k
        values[:, :, position : position + 1] = v
        end = position + 1
        return self.finish(x, F.scaled_dot_product_attention(q, keys[:, :, :end], values[:, :, :end]))

    def decode_masked(self, x, cache, position, mask):
        """The same with a tensor for the position and the whole cache under a mask: shapes never change, so it compiles once."""
        q, k, v = self.split(x)
        keys, values = cache
        keys.index_copy_(2, position, k)
        values.index_copy_(2, position, v)
        return self.finish(x, F.scaled_dot_product_attention(q, keys, values, attn_mask=mask))


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(config.vocab, config.dim), nn.Embedding(config.context, config.dim)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.ln_f = nn.LayerNorm(config.dim)
        self.register_buffer("positions", torch.arange(config.context), persistent=False)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, std=0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def head(self, x):
        return F.linear(self.ln_f(x), self.wte.weight)

    def forward(self, tokens, targets):
        x = self.wte(tokens) + self.wpe(self.positions)
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(x).flatten(0, 1), targets.flatten())

    def decode(self, token, caches, position):
        x = self.wte(token) + self.wpe.weight[position]
        for block, cache in zip(self.blocks, caches):
            x = block.decode(x, cache, position)
        return self.head(x).argmax(-1)

    def decode_masked(self, token, caches, position):
        mask = (self.positions <= position).view(1, 1, 1, -1)
        x = self.wte(token) + self.wpe(position)
        for block, cache in zip(self.blocks, caches):
            x = block.decode_masked(x, cache, position, mask)
        return self.head(x).argmax(-1)


def training_step(model, config, compiled):
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=1e-4, betas=(0.9, 0.99), weight_decay=0.1, fused=True, foreach=False
    )
    forward = torch.compile(model) if compiled else model
    batches = [torch.randint(config.vocab, (2, config.batch, config.context)) for _ in range(8)]
    done = 0

    def step():
        nonlocal done
        tokens, targets = batches[done % len(batches)]
        done += 1
        loss = forward(tokens, targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def generating_step(model, config, compiled):
    """One call generates one token greedily; a sequence that has filled the context starts anew."""
    shape = (1, config.heads, config.context, config.dim // config.heads)
    caches = [(torch.zeros(shape), torch.zeros(shape)) for _ in range(config.layers)]
    decode = torch.compile(model.decode_masked) if compiled else model.decode
    positions = [torch.tensor([p]) if compiled else p for p in range(config.context)]
    token, position = torch.zeros((1, 1), dtype=torch.long), 0

    @torch.inference_mode()
    def step():
        nonlocal token, position
        token = decode(token, caches, positions[position])
        int(token)  # a user reads every token
        position = (position + 1) % config.context

    return step


def measure(step, steps=None, seconds=None):
    """Milliseconds of every step; by number or until the time is over."""
    times = []
    begin = time.perf_counter()
    while True:
        start = time.perf_counter()
        step()
        end = time.perf_counter()
        times.append((end - start) * 1e3)
        if (len(times) >= steps) if steps else (end - begin >= seconds):
            return times


def report(times, config, facts):
    median = statistics.median(times)
    tokens = 1 if arguments.generate else config.tokens
    result = {
        **facts,
        "ms_per_step": median,
        "ms_fastest": min(times),
        "steps": len(times),
        "tokens_per_second": tokens * 1e3 / (statistics.fmean(times) if arguments.generate else median),
        "peak_rss_bytes": peak_rss_bytes(),
    }
    if not arguments.generate:
        result["gflops"] = config.flops_per_step / median / 1e6
    print(json.dumps(result), flush=True)


def main():
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(1)
    config = CONFIGS[arguments.config]
    model = GPT(config)
    build = generating_step if arguments.generate else training_step
    step = build(model, config, arguments.mode == "compile")
    step()
    facts = {
        "config": arguments.config,
        "mode": arguments.mode,
        "threads": arguments.threads,
        "time_to_first_step": seconds_since_process_start(),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "torch": torch.__version__,
    }
    measure(step, seconds=0.5)  # warm-up
    if not arguments.serve:
        report(measure(step, arguments.steps, arguments.seconds), config, facts)
        return
    print(json.dumps({**facts, "ready": True}), flush=True)
    for line in sys.stdin:
        match line.split():
            case ["steps", count]:
                report(measure(step, steps=int(count)), config, facts)
            case ["seconds", length]:
                report(measure(step, seconds=float(length)), config, facts)
            case ["quit"]:
                return
            case _:
                print(json.dumps({"error": f"expected `steps N`, `seconds S` or `quit`, got {line.strip()!r}"}), flush=True)


if __name__ == "__main__":
    main()
