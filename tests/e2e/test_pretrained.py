#!/usr/bin/env python3
"""Published models against transformers and peft: logits, gradients, training, exports and samples are theirs.

    pip install torch==2.13.0 transformers==5.22.2 peft==0.21.2

Small random models of every family are made here, so nothing is downloaded. Skipped where one of them is missing.
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

program = sys.argv[1]
try:
    os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", HF_HUB_DISABLE_PROGRESS_BARS="1")
    import peft
    import torch
    import transformers
    from safetensors.torch import load_file
except ImportError as missing:
    print(f"skipped: {missing.name} is not installed")
    sys.exit(77)

torch.set_num_threads(1)
transformers.utils.logging.disable_progress_bar()
CONTEXT, STEPS, LR, BATCH, PROMPT = 32, 20, 1e-3, 2, "abc"
temporary = tempfile.TemporaryDirectory(prefix="plimsoll-pretrained-")
folder = pathlib.Path(temporary.name)
text = folder / "text.txt"
words = random.Random(7)
text.write_text("".join(words.choice("abcdefgh ABCDEFG\n.,") for _ in range(6000)))
BYTES = list(text.read_bytes())
problems = []


def expect(what, found, limit):
    print(f"{'ok ' if found <= limit else 'BAD'} {what}: {found:.2e} (at most {limit:g})")
    if not found <= limit:
        problems.append(what)


def run(*arguments):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True)
    assert done.returncode == 0, (arguments, done.stderr.decode())
    return done.stdout


# --- models -----------------------------------------------------------------------------------------------------------
COMMON = dict(vocab_size=256, hidden_size=48, intermediate_size=80, num_hidden_layers=2, num_attention_heads=4,
              max_position_embeddings=128, initializer_range=0.15, bos_token_id=None, eos_token_id=None)
ROPE3 = {"rope_type": "llama3", "rope_theta": 500.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
         "original_max_position_embeddings": 32}


def shapes():
    t = transformers
    yield "llama", t.LlamaForCausalLM(t.LlamaConfig(**COMMON, num_key_value_heads=2, tie_word_embeddings=True)), {}
    yield "llama3", t.LlamaForCausalLM(t.LlamaConfig(
        **COMMON, num_key_value_heads=1, tie_word_embeddings=False, attention_bias=True, mlp_bias=True,
        rope_parameters=ROPE3)), {"dtype": torch.bfloat16, "max_shard_size": "60KB"}
    yield "qwen2", t.Qwen2ForCausalLM(t.Qwen2Config(
        **COMMON, num_key_value_heads=2, tie_word_embeddings=True)), {"dtype": torch.float16}
    yield "qwen3", t.Qwen3ForCausalLM(t.Qwen3Config(
        **COMMON, num_key_value_heads=2, tie_word_embeddings=False, head_dim=16)), {}
    yield "gpt2", t.GPT2LMHeadModel(t.GPT2Config(
        vocab_size=256, n_embd=48, n_layer=2, n_head=4, n_positions=128, n_inner=80, initializer_range=0.15,
        resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, bos_token_id=None, eos_token_id=None)), {}


def make(name, model, options):
    """Saves a model whose norms and biases are no trivial numbers either."""
    torch.manual_seed(len(name))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.1 * torch.randn_like(parameter))
    dtype = options.pop("dtype", torch.float32)
    model.to(dtype).save_pretrained(folder / name, **options)
    if "max_shard_size" in options:
        assert (folder / name / "model.safetensors.index.json").exists()
    return folder / name


def theirs(path):
    return transformers.AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()


# --- what they compute ------------------------------------------------------------------------------------------------
def batches(seed=1):
    """The windows of every step, drawn as docs/determinism.md says."""
    mask = (1 << 64) - 1

    def mix(x):
        for _ in range(2):
            x ^= x >> 32
            x = x * 0xd6e8feb86659fd93 & mask
        return x ^ x >> 32

    train = len(BYTES) * 9 // 10
    key = mix(seed ^ mix(2 * 0x9e3779b97f4a7c15 & mask))
    for step in range(STEPS):
        rows = []
        for row in range(BATCH):
            bits = mix(key + mix(step * BATCH + row + 0x9e3779b97f4a7c15 & mask) & mask)
            place = bits * (train - CONTEXT) >> 64
            rows.append(BYTES[place:place + CONTEXT + 1])
        yield torch.tensor(rows)


def loss_of(model, tokens):
    logits = model(tokens[:, :-1]).logits
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


def train_theirs(model, steps=STEPS):
    """Losses, and the gradients of the first and the third step by name."""
    trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
    optimizer = torch.optim.AdamW(trained.values(), lr=LR, betas=(.9, .999), eps=1e-8, weight_decay=0)
    losses, gradients = [], {}
    for step, tokens in enumerate(batches()):
        if step == steps:
            break
        optimizer.zero_grad()
        loss = loss_of(model, tokens)
        loss.backward()
        if step in (0, 2):
            gradients[step + 1] = {name: p.grad.clone() for name, p in trained.items()}
        optimizer.step()
        losses.append(loss.item())
    return losses, gradients


# --- what we compute --------------------------------------------------------------------------------------------------
def train_ours(model, out, *options, iterations=STEPS):
    run("train", "--model", model, "--tokenizer", "bytes", "--data", text, "--context", CONTEXT, "--batch", BATCH, "--lr",
        LR, "--min-lr", LR, "--warmup", 0, "--clip", 0, "--iterations", iterations, "--out", out, "--log-every", 1,
        "--eval-every", 0, "--checkpoint-every", 1, "--keep", STEPS, "--metrics", f"{out}.jsonl", *options)
    rows = [json.loads(line) for line in open(f"{out}.jsonl")]
    return [row["loss"] for row in rows if row["type"] == "step"]


def gradient_ours(out, step):
    """The first moment remembers it: m = .9 m' + .1 g."""
    def moments(number):
        return {name[:-2]: tensor for name, tensor in load_file(out / f"step-{number:06}" / "optimizer.safetensors").items()
                if name.endswith(".m")}
    now = moments(step)
    before = moments(step - 1) if step > 1 else {name: torch.zeros_like(t) for name, t in now.items()}
    return {name: (now[name] - .9 * before[name]) / .1 for name in now}


def logits_ours(*which):
    out = folder / "logits.safetensors"
    run("eval", *which, "--data", text, "--logits", out)
    tensors = load_file(out)
    return tensors["tokens"].long(), tensors["logits"]


def compare_logits(what, model, *which):
    tokens, logits = logits_ours(*which)
    with torch.no_grad():
        expect(f"{what}: logits", (model(tokens[None, :-1]).logits[0] - logits).abs().max().item(), 1e-4)


def compare_losses(what, ours, their):
    expect(f"{what}: {len(ours)} losses", max(abs(a / b - 1) for a, b in zip(ours, their, strict=True)), 1e-4)


def compare_gradients(what, ours, their, plain):
    """Largest difference over all tensors, relative to the largest gradient of the tensor."""
    their = {plain(name): g for name, g in their.items()}
    assert set(ours) == set(their), set(ours) ^ set(their)
    largest = max(g.abs().max().item() for g in their.values())
    expect(f"{what}: gradients", max((ours[n] - their[n]).abs().max().item() for n in ours) / largest, 1e-4)


def plain_name(name):
    for part in ("base_model.model.", "transformer.", ".default"):
        name = name.replace(part, "")
    return name


def check_full(name, path):
    out = folder / f"{name}-full"
    ours = train_ours(path, out)
    model = theirs(path)
    losses, gradients = train_theirs(model.train())
    compare_losses(f"{name}, all parameters", ours, losses)
    for step in (1, 3):
        compare_gradients(f"{name}, all parameters, step {step}", gradient_ours(out, step), gradients[step], plain_name)
    merged = folder / f"{name}-full-merged"
    run("export", out, "--merged", merged, "--dtype", "f32")
    compare_logits(f"{name}, all parameters, exported", theirs(merged), out)


def check_last(name, path):
    out = folder / f"{name}-last"
    ours = train_ours(path, out, "--train-last", 1, iterations=5)
    model = theirs(path).train()
    for parameter, p in model.named_parameters():
        p.requires_grad_(any(part in parameter for part in ("layers.1.", "h.1.", "model.norm.", "ln_f.")))
    losses, gradients = train_theirs(model, 5)
    compare_losses(f"{name}, the last block", ours, losses)
    compare_gradients(f"{name}, the last block", gradient_ours(out, 3), gradients[3], plain_name)


def check_lora(name, path, targets):
    out = folder / f"{name}-lora"
    # The adapters before the first step: those of a run that does not learn.
    start = folder / f"{name}-start"
    chosen = ("--lora-rank", 4, "--lora-alpha", 8, "--lora-targets", targets)
    run("train", "--model", path, "--tokenizer", "bytes", "--data", text, "--context", CONTEXT, "--lr", 0, "--min-lr", 0,
        "--iterations", 1, "--out", start, "--eval-every", 0, *chosen)
    run("export", start, "--peft", folder / f"{name}-start-adapter")
    ours = train_ours(path, out, *chosen)
    model = peft.PeftModel.from_pretrained(theirs(path), folder / f"{name}-start-adapter", is_trainable=True)
    losses, gradients = train_theirs(model.train())
    compare_losses(f"{name}, adapters", ours, losses)
    for step in (1, 3):
        compare_gradients(f"{name}, adapters, step {step}", gradient_ours(out, step), gradients[step], plain_name)
    adapter, merged = folder / f"{name}-adapter", folder / f"{name}-merged"
    run("export", out, "--peft", adapter)
    run("export", out, "--merged", merged, "--dtype", "f32")
    compare_logits(f"{name}, our adapter in peft", peft.PeftModel.from_pretrained(theirs(path), adapter).eval(), out)
    compare_logits(f"{name}, our merged model in transformers", theirs(merged), out)
    compare_greedy(f"{name}, adapters", theirs(merged), 28, out)


def greedy_ours(length, *which):
    return run("sample", *which, "--prompt", PROMPT, "--length", length, "--temperature", 0)[:-1]


def compare_greedy(what, model, length, *which):
    tokens = torch.tensor([list(PROMPT.encode())])
    with torch.no_grad():
        their = bytes(model.generate(tokens, max_new_tokens=length, do_sample=False, pad_token_id=0)[0].tolist())
    ours = greedy_ours(length, *which)
    assert len(ours) == len(their) == len(PROMPT) + length
    expect(f"{what}: {length} greedy tokens with the cache", sum(a != b for a, b in zip(ours, their)), 0)


for family, made, how in shapes():
    path = make(family, made, dict(how))
    compare_logits(family, theirs(path), "--model", path, "--tokenizer", "bytes", "--context", CONTEXT)
    compare_greedy(family, theirs(path), 64, "--model", path, "--tokenizer", "bytes", "--context", 100)
    check_full(family, path)
    check_last(family, path)
    check_lora(family, path, "all" if family != "qwen2" else r".*self_attn.*")

# peft sees the modules of GPT-2 under a name of the whole.
counts = [json.loads(run("plan", "--model", folder / "gpt2", "--tokenizer", "bytes", "--lora-rank", 4, "--lora-targets", expression, "--json"))["parameters"]
          for expression in (r"h\.0\.mlp\..*", r"transformer\.h\.0\.mlp\..*", r".*h\.0\.mlp\..*")]
expect("gpt2: parameters by an expression with the name of the whole", max(counts) - min(counts), 0)

print(f"{len(problems)} problems" + "".join(f"\n  {problem}" for problem in problems))
sys.exit(1 if problems else 0)
