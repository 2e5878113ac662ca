#!/usr/bin/env python3
"""Fine-tuning at the exact shapes of published models, with random weights: memory lines, and speed beside transformers + peft.

    python3 bench/finetune.py make smollm2-135m FOLDER           # writes FOLDER/smollm2-135m, bf16
    python3 bench/finetune.py lines PROGRAM FOLDER               # each line in a control group of that size (version 1, as root)
    python3 bench/finetune.py speed PROGRAM FOLDER               # alternating with peft; needs torch, transformers, peft

Nothing is downloaded. `make` needs numpy. The quieter the machine, the more its times mean.
"""
import json
import pathlib
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import time

# hidden, feed-forward, layers, heads, heads of keys, head size, vocabulary, bias of q, k and v
SHAPES = {
    "smollm2-135m": (576, 1536, 30, 9, 3, 64, 49152, False),
    "smollm2-360m": (960, 2560, 32, 15, 5, 64, 49152, False),
    "qwen2.5-0.5b": (896, 4864, 24, 14, 2, 64, 151936, True),
    "llama-3.2-1b": (2048, 8192, 16, 32, 8, 64, 128256, False),
}
LINES = [("smollm2-135m", 512, 350_000_000), ("qwen2.5-0.5b", 512, 700_000_000), ("llama-3.2-1b", 512, 1_000_000_000),
         ("llama-3.2-1b", 2048, 1_600_000_000)]


def tensors(name):
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


def make(name, folder):
    """A model of that shape in bf16: matrices are noise, gains one, biases zero."""
    import numpy
    dim, ff, layers, heads, kv, size, vocabulary, bias = SHAPES[name]
    out = pathlib.Path(folder) / name
    out.mkdir(parents=True, exist_ok=True)
    config = {"architectures": ["Qwen2ForCausalLM" if bias else "LlamaForCausalLM"], "model_type": "qwen2" if bias else "llama",
              "hidden_size": dim, "intermediate_size": ff, "num_hidden_layers": layers, "num_attention_heads": heads,
              "num_key_value_heads": kv, "vocab_size": vocabulary, "max_position_embeddings": 8192, "rms_norm_eps": 1e-5,
              "rope_theta": 1e5, "hidden_act": "silu", "tie_word_embeddings": True, "torch_dtype": "bfloat16"}
    (out / "config.json").write_text(json.dumps(config))
    header, offset = {}, 0
    for tensor, shape in tensors(name):
        end = offset + 2 * int(numpy.prod(shape))
        header[tensor] = {"dtype": "BF16", "shape": shape, "data_offsets": [offset, end]}
        offset = end
    text, random = json.dumps(header).encode(), numpy.random.default_rng(1)
    with open(out / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor, shape in tensors(name):
            left = int(numpy.prod(shape))
            while left:
                count = min(left, 1 << 22)
                if len(shape) == 2:
                    values = random.standard_normal(count, dtype=numpy.float32) * numpy.float32(0.02)
                else:
                    values = numpy.full(count, 0 if tensor.endswith("bias") else 1, numpy.float32)
                file.write((values.view(numpy.uint32) >> 16).astype(numpy.uint16).tobytes())
                left -= count
    print(out, offset, "bytes of weights")


def train_arguments(program, model, context, iterations, folder, *more):
    text = folder / "text.txt"
    text.write_bytes(bytes(97 + i * i % 26 for i in range(12 * (context + 1))))
    out = folder / f"run-{time.monotonic_ns()}"
    return [program, "train", "--model", model, "--tokenizer", "bytes", "--data", text, "--lora-rank", 16, "--context", context,
            "--iterations", iterations, "--eval-every", 0, "--checkpoint-every", 0, "--out", out, "--json", *more]


def lines(program, models):
    """Peak of the process and of its control group beside the plan."""
    for name, context, limit in LINES:
        if not (pathlib.Path(models) / name).exists():
            make(name, models)
        group = pathlib.Path("/sys/fs/cgroup/memory") / f"plimsoll-bench-{time.monotonic_ns()}"
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(limit))
        with tempfile.TemporaryDirectory() as folder:
            arguments = train_arguments(program, pathlib.Path(models) / name, context, 3, pathlib.Path(folder), "--memory", limit)
            enter = f"echo $$ > {group}/cgroup.procs && exec \"$@\""
            done = subprocess.run(["bash", "-c", enter, "bash", *map(str, arguments)], capture_output=True, text=True)
            kills = re.search(r"oom_kill (\d+)", (group / "memory.oom_control").read_text())
            peak = int((group / "memory.max_usage_in_bytes").read_text())
        group.rmdir()
        if done.returncode:
            print(f"{name} {context}: code {done.returncode}: {done.stderr.strip().splitlines()[-1]}")
            continue
        r = json.loads(done.stdout)
        print(f"{name}, context {context}, line {limit / 1e6:.0f} MB: plan {r['plan_bytes'] / 1e6:.0f} MB, process "
              f"{r['peak_rss_bytes'] / 1e6:.0f} MB, group {peak / 1e6:.0f} MB, {kills.group(1) if kills else '?'} kills, "
              f"{r['ms_per_step'] / 1e3:.1f} s a step (predicted {r['predicted_ms_per_step'] / 1e3:.1f})", flush=True)


PEFT = """
import sys, time, torch, transformers, peft
model, context, steps, dtype, checkpointing = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5] == "yes"
base = transformers.AutoModelForCausalLM.from_pretrained(model, dtype=getattr(torch, dtype))
if checkpointing:
    base.gradient_checkpointing_enable()
    base.enable_input_require_grads()
net = peft.get_peft_model(base, peft.LoraConfig(r=16, lora_alpha=32, target_modules="all-linear"))
optimizer = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=2e-4)
for step in range(steps):
    began = time.monotonic()
    tokens = torch.randint(256, (1, context))
    net(input_ids=tokens, labels=tokens).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(time.monotonic() - began, flush=True)
status = open("/proc/self/status").read()
print("peak", int(status.split("VmHWM:")[1].split()[0]) * 1024)
"""


def speed(program, models, rounds=3):
    """Seconds a step, ours and theirs in turn, as many threads; the best of their ways counts."""
    name, context, steps = "smollm2-135m", 512, 4
    model = pathlib.Path(models) / name
    if not model.exists():
        make(name, models)
    sides = {"plimsoll": None}
    sides.update({f"peft {dtype}{', checkpointing' if again == 'yes' else ''}": (dtype, again)
                  for dtype in ("float32", "bfloat16") for again in ("no", "yes")})
    times, peaks = {side: [] for side in sides}, {}
    for _ in range(rounds):
        for side, how in sides.items():
            with tempfile.TemporaryDirectory() as folder:
                if how is None:
                    arguments = train_arguments(program, model, context, steps, pathlib.Path(folder))
                    r = json.loads(subprocess.run(list(map(str, arguments)), capture_output=True, text=True, check=True).stdout)
                    times[side].append(r["ms_per_step"] / 1e3)
                    peaks[side] = r["peak_rss_bytes"]
                    continue
                if how[0] == "bfloat16" and times[side] and times[side][0] > 10 * min(times["plimsoll"]):
                    continue  # far behind: once is enough
                out = subprocess.run([sys.executable, "-c", PEFT, model, str(context), str(steps), *how], capture_output=True,
                                     text=True, check=True).stdout.split()
                times[side].append(statistics.median(map(float, out[1:steps])))
                peaks[side] = int(out[-1])
    for side, found in times.items():
        print(f"{side:28} {statistics.median(found):8.2f} s a step, {peaks[side] / 1e6:8.0f} MB")


if len(sys.argv) == 4 and sys.argv[1] in ("make", "lines", "speed"):
    {"make": make, "lines": lines, "speed": speed}[sys.argv[1]](sys.argv[2], sys.argv[3])
else:
    sys.exit(__doc__)
