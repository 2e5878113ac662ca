#!/usr/bin/env python3
"""Fine-tuning at the exact shapes of published models, with random weights: memory lines, and speed beside transformers + peft.

    python3 bench/finetune.py make smollm2-135m FOLDER           # writes FOLDER/smollm2-135m, bf16
    python3 bench/finetune.py lines PROGRAM FOLDER               # each line in a control group of that size (version 1, as root); 7 minutes
    python3 bench/finetune.py speed PROGRAM FOLDER [--isa avx2]  # alternating with peft; needs torch, transformers, peft; 12 minutes

PROGRAM is the plimsoll to measure, FOLDER where models are or will be made (5 GB). Times are of an idle 2-core machine. A step's time
is the median of all steps but the first of each run. `--isa avx2` keeps both sides to that instruction set, `--rounds` and `--steps`
say how often and how long (3 and 6), `--only smollm2-135m` leaves full tuning of GPT-2 out, `--dtypes float32` their bfloat16.

Nothing is downloaded. `make` needs numpy. The quieter the machine, the more its times mean.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import time

from sides import PEER_ISA

# hidden, feed-forward, layers, heads, heads of keys, head size, vocabulary, bias of q, k and v
SHAPES = {
    "smollm2-135m": (576, 1536, 30, 9, 3, 64, 49152, False),
    "smollm2-360m": (960, 2560, 32, 15, 5, 64, 49152, False),
    "qwen2.5-0.5b": (896, 4864, 24, 14, 2, 64, 151936, True),
    "llama-3.2-1b": (2048, 8192, 16, 32, 8, 64, 128256, False),
}
# model, context, bytes, steps
LINES = [("smollm2-135m", 512, 350_000_000, 4), ("qwen2.5-0.5b", 512, 700_000_000, 3), ("llama-3.2-1b", 512, 1_000_000_000, 2),
         ("llama-3.2-1b", 2048, 1_600_000_000, 1)]
FREE = [("smollm2-135m", 512, 4), ("llama-3.2-1b", 512, 1)]


def gpt2_tensors(dim=768, layers=12, vocabulary=50257, positions=1024):
    yield "transformer.wte.weight", (vocabulary, dim)
    yield "transformer.wpe.weight", (positions, dim)
    for layer in range(layers):
        h = f"transformer.h.{layer}."
        for norm in ("ln_1", "ln_2"):
            yield f"{h}{norm}.weight", (dim,)
            yield f"{h}{norm}.bias", (dim,)
        for part, rows, columns in (("attn.c_attn", dim, 3 * dim), ("attn.c_proj", dim, dim), ("mlp.c_fc", dim, 4 * dim), ("mlp.c_proj", 4 * dim, dim)):
            yield f"{h}{part}.weight", (rows, columns)
            yield f"{h}{part}.bias", (columns,)
    yield "transformer.ln_f.weight", (dim,)
    yield "transformer.ln_f.bias", (dim,)


def tensors(name):
    if name == "gpt2":
        yield from gpt2_tensors()
        return
    dim, ff, layers, heads, kv, size, vocabulary, bias = SHAPES[name]
    yield "model.embed_tokens.weight", (vocabulary, dim)
    for layer in range(layers):
        h = f"model.layers.{layer}."
        yield h + "input_layernorm.weight", (dim,)
        for part, rows in (("q", heads * size), ("k", kv * size), ("v", kv * size)):
            yield f"{h}self_attn.{part}_proj.weight", (rows, dim)
            if bias:
                yield f"{h}self_attn.{part}_proj.bias", (rows,)
        yield h + "self_attn.o_proj.weight", (dim, heads * size)
        yield h + "post_attention_layernorm.weight", (dim,)
        yield h + "mlp.gate_proj.weight", (ff, dim)
        yield h + "mlp.up_proj.weight", (ff, dim)
        yield h + "mlp.down_proj.weight", (dim, ff)
    yield "model.norm.weight", (dim,)


def needed(name, models):
    """The folder of the model, made if it is not there."""
    folder = pathlib.Path(models) / name
    if not folder.exists():
        make(name, models)
    return folder


def config(name):
    if name == "gpt2":
        return {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024,
                "vocab_size": 50257, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5, "tie_word_embeddings": True,
                "torch_dtype": "float32"}
    dim, ff, layers, heads, kv, size, vocabulary, bias = SHAPES[name]
    return {"architectures": ["Qwen2ForCausalLM" if bias else "LlamaForCausalLM"], "model_type": "qwen2" if bias else "llama",
            "hidden_size": dim, "intermediate_size": ff, "num_hidden_layers": layers, "num_attention_heads": heads,
            "num_key_value_heads": kv, "vocab_size": vocabulary, "max_position_embeddings": 8192, "rms_norm_eps": 1e-5,
            "rope_theta": 1e5, "hidden_act": "silu", "tie_word_embeddings": True, "torch_dtype": "bfloat16"}


def make(name, folder):
    """A model of that shape, GPT-2 in f32 and the others in bf16."""
    write_model(pathlib.Path(folder) / name, config(name), list(tensors(name)), wide=name == "gpt2")


def write_model(out, settings, shapes, wide=False):
    """Random weights in f32 (`wide`) or bf16: matrices are noise, gains one, biases zero."""
    import numpy
    out.mkdir(parents=True, exist_ok=True)
    (out / "config.json").write_text(json.dumps(settings))
    header, offset = {}, 0
    for tensor, shape in shapes:
        end = offset + (4 if wide else 2) * int(numpy.prod(shape))
        header[tensor] = {"dtype": "F32" if wide else "BF16", "shape": shape, "data_offsets": [offset, end]}
        offset = end
    text, random = json.dumps(header).encode(), numpy.random.default_rng(1)
    with open(out / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor, shape in shapes:
            left = int(numpy.prod(shape))
            while left:
                count = min(left, 1 << 22)
                if len(shape) > 1:
                    values = random.standard_normal(count, dtype=numpy.float32) * numpy.float32(0.02)
                else:
                    values = numpy.full(count, 0 if tensor.endswith("bias") else 1, numpy.float32)
                file.write((values if wide else (values.view(numpy.uint32) >> 16).astype(numpy.uint16)).tobytes())
                left -= count
    print(out, offset, "bytes of weights")


def train(program, model, context, steps, *more, group=None):
    """What a short run says: its JSON with the median seconds of its steps, or its last error line."""
    with tempfile.TemporaryDirectory() as folder:
        text, metrics = pathlib.Path(folder) / "text.txt", pathlib.Path(folder) / "metrics.jsonl"
        text.write_bytes(bytes(97 + i * i % 26 for i in range(12 * (context + 1))))
        arguments = [program, "train", "--model", model, "--tokenizer", "bytes", "--data", text, "--context", context, "--iterations", steps,
                     "--eval-every", 0, "--sample-every", 0, "--checkpoint-every", 0, "--log-every", 1, "--metrics", metrics,
                     "--out", pathlib.Path(folder) / "run", "--json", *more]
        enter = f"echo $$ > {group}/cgroup.procs && exec \"$@\"" if group else "exec \"$@\""
        done = subprocess.run(["bash", "-c", enter, "bash", *map(str, arguments)], capture_output=True, text=True)
        if done.returncode:
            return None, done.stderr.strip().splitlines()[-1]
        result = json.loads(done.stdout)
        ends = [row["time"] for row in map(json.loads, metrics.read_text().splitlines()) if row["type"] == "step"]
        # The first step is the slowest, for everything happens for the first time; it counts only where there is no other.
        result["steps"] = [after - before for before, after in zip(ends, ends[1:])] or [result["seconds"] / steps]
        result["step_seconds"] = statistics.median(result["steps"])
        return result, next((line for line in done.stderr.splitlines() if line.startswith("note:")), "")


def in_group(limit, body):
    """body(group) in a control group of so many bytes; its result, the group's peak and the kernel's kills."""
    group = pathlib.Path("/sys/fs/cgroup/memory") / f"plimsoll-bench-{time.monotonic_ns()}"
    group.mkdir()
    try:
        (group / "memory.limit_in_bytes").write_text(str(limit))
        found = body(group)
        kills = re.search(r"oom_kill (\d+)", (group / "memory.oom_control").read_text())
        return found, int((group / "memory.max_usage_in_bytes").read_text()), kills.group(1) if kills else "?"
    finally:
        group.rmdir()


def lines(program, models):
    """Peak of the process and of its control group beside the plan; then the same models without a line, weights kept and streamed."""
    for name, context, limit, steps in LINES:
        folder = needed(name, models)
        rank = ("--lora-rank", 16)
        (r, said), peak, kills = in_group(limit, lambda group: train(program, folder, context, steps, *rank, "--memory", limit, group=group))
        print(f"{name}, context {context}, line {limit / 1e6:.0f} MB: "
              + (f"{figures(r)}, group {peak / 1e6:.0f} MB, {kills} kills, predicted {r['predicted_ms_per_step'] / 1e3:.1f} s. {said}"
                 if r else f"refused: {said}"), flush=True)
    for name, context, steps in FREE:
        for stream in ("off", "on"):
            r, said = train(program, needed(name, models), context, steps, "--lora-rank", 16, "--stream", stream)
            print(f"{name}, context {context}, no line, stream {stream}: {figures(r) if r else said}", flush=True)


def figures(r):
    return (f"plan {r['plan_bytes'] / 1e6:.0f} MB, process {r['peak_rss_bytes'] / 1e6:.0f} MB, {r['step_seconds']:.1f} s a step "
            f"({r['processor_share']:.0%} of the processors)")


PEFT = """
import sys, time, torch, transformers, peft
model, context, steps, dtype, checkpointing, rank = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5] == "yes", int(sys.argv[6])
net = transformers.AutoModelForCausalLM.from_pretrained(model, dtype=getattr(torch, dtype))
if checkpointing:
    net.gradient_checkpointing_enable()
    net.enable_input_require_grads()
if rank:
    net = peft.get_peft_model(net, peft.LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear"))
net.train()
optimizer = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=2e-4)
print(torch.backends.cpu.get_cpu_capability())
for step in range(steps):
    began = time.monotonic()
    tokens = torch.randint(256, (1, context))
    net(input_ids=tokens, labels=tokens).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(time.monotonic() - began, flush=True)
status = open("/proc/self/status").read()
print(int(status.split("VmHWM:")[1].split()[0]) * 1024)
"""

def theirs(model, context, steps, dtype, checkpointing, rank, patience, isa):
    """Their seconds of each step and peak bytes; nothing where that takes longer than `patience` seconds."""
    try:
        out = subprocess.run([sys.executable, "-c", PEFT, model, str(context), str(steps), dtype, checkpointing, str(rank)],
                             env={**os.environ, **PEER_ISA[isa]}, capture_output=True, text=True, check=True, timeout=patience).stdout.split()
    except subprocess.TimeoutExpired:
        return None
    capability, times, peak = out[0], [float(t) for t in out[1:-1]], int(out[-1])
    if isa != "auto" and capability.lower() != isa:
        sys.exit(f"PyTorch runs with {capability}, not {isa}")
    return times[1:] or times, peak


def speed(program, models, isa="auto", rounds=3, steps=6, only=None, dtypes=("float32", "bfloat16")):
    """Seconds a step, ours and theirs in turn, as many threads."""
    for name, rank, context in (("smollm2-135m", 16, 512), ("gpt2", 0, 512)):
        if only and name != only:
            continue
        model = needed(name, models)
        flags = ("--isa", isa, *(("--lora-rank", rank) if rank else ("--clip", 0)))  # their loop clips nothing
        ours = {"plimsoll": ()} | ({"plimsoll --recompute nothing": ("--recompute", "nothing")} if rank else {})
        others = {f"{'peft' if rank else 'transformers'} {dtype}{', checkpointing' if again == 'yes' else ''}": (dtype, again)
                  for dtype in dtypes for again in ("no", "yes")}
        found = {side: [] for side in [*ours, *others]}
        for turn in range(rounds):
            for side, more in ours.items():
                r, said = train(program, model, context, steps, *flags, *more)
                found[side].append((r["steps"], r["peak_rss_bytes"]) if r else sys.exit(said))
            for side, (dtype, again) in others.items():
                slow = dtype == "bfloat16"  # without instructions for it, a step takes minutes: once, one step, a minute
                if not (slow and turn):
                    found[side].append(theirs(model, context, 1 if slow else steps, dtype, again, rank, 60 if slow else 600, isa))
        print(f"{name}, {f'rank {rank}' if rank else 'all parameters'}, context {context}, batch 1, {isa}")
        middle = {side: statistics.median(t for times, _ in runs for t in times) for side, runs in found.items() if None not in runs}
        best = min(middle[side] for side in others if side in middle)
        for side, runs in found.items():
            if side not in middle:
                print(f"  {side:36} more than a minute for a step and its start")
                continue
            least = min(t for times, _ in runs for t in times)
            print(f"  {side:36} {middle[side]:6.2f} s a step ({least:.2f} at least), {max(peak for _, peak in runs) / 1e6:6.0f} MB"
                  + (f", {best / middle[side]:.2f} times their best" if side in ours else ""), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("make", "lines", "speed"))
    parser.add_argument("program", help="the plimsoll to measure; with make, a name of SHAPES or gpt2")
    parser.add_argument("folder", help="where models are or will be made")
    parser.add_argument("--isa", choices=PEER_ISA, default="auto")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--only", choices=("smollm2-135m", "gpt2"))
    parser.add_argument("--dtypes", default="float32,bfloat16")
    options = parser.parse_args()
    if options.what == "make":
        make(options.program, options.folder)
    elif options.what == "lines":
        lines(options.program, options.folder)
    else:
        speed(options.program, options.folder, options.isa, options.rounds, options.steps, options.only, options.dtypes.split(","))


if __name__ == "__main__":
    main()
