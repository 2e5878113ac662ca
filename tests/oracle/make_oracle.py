"""Makes the stored small training runs anew with PyTorch, in double precision, and writes them to tests/oracle/data.

    python3 tests/oracle/make_oracle.py            write the results (any Python with PyTorch)
    python3 tests/oracle/make_oracle.py --check    compute again and compare with what is stored; code 1 if they differ

README.md beside this file describes what is stored and how to compare with it.
"""

import argparse
import ctypes
import json
import math
import random
import struct
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    sys.exit("make_oracle.py needs PyTorch: run it with a Python that has it (pip install torch==2.13.0)")

DATA = Path(__file__).parent / "data"
STEPS = 20
KEPT_STEPS = (1, STEPS)  # the steps whose gradients are stored
OPTIMIZER = {"lr": 1e-3, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "weight_decay": 0.1}
LAYER_NORM_EPS = 1e-5


@dataclass(frozen=True)
class Model:
    vocab: int
    context: int
    layers: int
    heads: int
    dim: int
    ff: int
    tied: bool


@dataclass(frozen=True)
class Case:
    name: str
    model: Model
    batch: int
    accumulate: int
    clip: float | None
    seed: int
    starts_as: str | None = None  # the case whose initial weights, tokens and first gradients these are


WIDE = Model(vocab=67, context=48, layers=2, heads=4, dim=64, ff=256, tied=True)
CASES = (
    Case("tied", Model(vocab=65, context=33, layers=2, heads=4, dim=40, ff=160, tied=True), 2, 1, 1.0, seed=1),
    Case("untied", Model(vocab=35, context=32, layers=1, heads=2, dim=32, ff=64, tied=False), 1, 1, 1.0, seed=2),
    Case("accumulated", WIDE, 3, 2, 1.0, seed=3),
    Case("accumulated-unclipped", WIDE, 3, 2, None, seed=3, starts_as="accumulated"),
)


def parameter_shapes(model):
    """Names and layouts of Hugging Face's GPT-2: projections are stored in x out, the head out x in."""
    d, ff = model.dim, model.ff
    shapes = {"wte.weight": (model.vocab, d), "wpe.weight": (model.context, d)}
    for layer in range(model.layers):
        block = {
            "ln_1.weight": (d,), "ln_1.bias": (d,),
            "attn.c_attn.weight": (d, 3 * d), "attn.c_attn.bias": (3 * d,),
            "attn.c_proj.weight": (d, d), "attn.c_proj.bias": (d,),
            "ln_2.weight": (d,), "ln_2.bias": (d,),
            "mlp.c_fc.weight": (d, ff), "mlp.c_fc.bias": (ff,),
            "mlp.c_proj.weight": (ff, d), "mlp.c_proj.bias": (d,),
        }  # fmt: skip
        shapes |= {f"h.{layer}.{name}": shape for name, shape in block.items()}
    shapes |= {"ln_f.weight": (d,), "ln_f.bias": (d,)}
    if not model.tied:
        shapes |= {"lm_head.weight": (model.vocab, d), "lm_head.bias": (model.vocab,)}
    return shapes


def initial_weights(case):
    """Python's own generator, because PyTorch's may change between versions. Nothing is zero or one, so that a forgotten
    bias or gain shows; attention is sharp enough to matter and the rest so small that clipping starts and stops. Rounded
    to float32, so that both precisions begin at the same numbers."""
    draw = random.Random(case.seed).gauss
    weights = {}
    for name, shape in parameter_shapes(case.model).items():
        centre = 1.0 if "ln_" in name and name.endswith("weight") else 0.0
        deviation = 0.1 if len(shape) == 1 else 0.15 if "c_attn" in name else 0.04
        values = [draw(centre, deviation) for _ in range(math.prod(shape))]
        weights[name] = torch.tensor(values, dtype=torch.float32).reshape(shape)
    return weights


def token_steps(case):
    """STEPS x accumulate x batch x (context + 1) tokens of a noisy rule, so that there is something to learn."""
    source = random.Random(case.seed + 1000)
    vocab = case.model.vocab

    def window():
        tokens = [source.randrange(vocab)]
        for _ in range(case.model.context):
            noisy = source.random() < 0.2
            tokens.append(source.randrange(vocab) if noisy else (3 * tokens[-1] + 7) % vocab)
        return tokens

    return [[[window() for _ in range(case.batch)] for _ in range(case.accumulate)] for _ in range(STEPS)]


def loss_of(model, w, tokens):
    """Mean cross-entropy over a micro-batch of batch x (context + 1) tokens, attention written out in full."""
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    B, T = inputs.shape
    d, H = model.dim, model.heads
    hidden_future = torch.ones(T, T, dtype=torch.bool).triu(1)

    def norm(x, name):
        return F.layer_norm(x, (d,), w[f"{name}.weight"], w[f"{name}.bias"], LAYER_NORM_EPS)

    def project(x, name):
        return x @ w[f"{name}.weight"] + w[f"{name}.bias"]

    x = w["wte.weight"][inputs] + w["wpe.weight"][:T]
    for layer in range(model.layers):
        h = f"h.{layer}"
        parts = project(norm(x, f"{h}.ln_1"), f"{h}.attn.c_attn").split(d, dim=-1)
        q, k, v = (part.view(B, T, H, d // H).transpose(1, 2) for part in parts)  # B H T d/H
        scores = (q @ k.transpose(-1, -2) / math.sqrt(d // H)).masked_fill(hidden_future, -math.inf)
        mixed = (scores.softmax(-1) @ v).transpose(1, 2).reshape(B, T, d)
        x = x + project(mixed, f"{h}.attn.c_proj")
        x = x + project(F.gelu(project(norm(x, f"{h}.ln_2"), f"{h}.mlp.c_fc"), approximate="tanh"), f"{h}.mlp.c_proj")
    x = norm(x, "ln_f")
    logits = x @ w["wte.weight"].T if model.tied else x @ w["lm_head.weight"].T + w["lm_head.bias"]
    return F.cross_entropy(logits.reshape(B * T, model.vocab), targets.reshape(B * T))


@dataclass
class Run:
    losses: list
    gradient_norms: list  # of all gradients together, before clipping
    clip_scales: list  # what clipping multiplied them with
    gradients: dict  # step -> name -> tensor, before clipping
    weights: dict


def train(case, dtype):
    weights = {name: tensor.to(dtype).requires_grad_() for name, tensor in initial_weights(case).items()}
    optimizer = torch.optim.AdamW(
        [
            {"params": [w for w in weights.values() if w.dim() == 2], "weight_decay": OPTIMIZER["weight_decay"]},
            {"params": [w for w in weights.values() if w.dim() != 2], "weight_decay": 0.0},
        ],
        lr=OPTIMIZER["lr"],
        betas=(OPTIMIZER["beta1"], OPTIMIZER["beta2"]),
        eps=OPTIMIZER["eps"],
    )
    run = Run([], [], [], {}, {})
    for step, micro_batches in enumerate(torch.tensor(token_steps(case)), start=1):
        optimizer.zero_grad()
        loss = sum(loss_of(case.model, weights, tokens) for tokens in micro_batches) / case.accumulate
        loss.backward()
        run.losses.append(loss.item())
        if step in KEPT_STEPS:
            run.gradients[step] = {name: w.grad.clone() for name, w in weights.items()}
        norm = torch.nn.utils.clip_grad_norm_(weights.values(), case.clip or math.inf).item()
        run.gradient_norms.append(norm)
        run.clip_scales.append(min(1.0, case.clip / (norm + 1e-6)) if case.clip else 1.0)
        optimizer.step()
    run.weights = {name: w.detach() for name, w in weights.items()}
    return run


def relative_distance(a, b):
    """Of two sets of tensors: the worst over the tensors of |a - b| / |b|, Euclidean norms."""
    return max(((a[name].double() - b[name].double()).norm() / b[name].double().norm()).item() for name in b)


def write_safetensors(path, tensors):
    header, offset, blobs = {}, 0, []
    for name, tensor in tensors.items():
        tensor = tensor.to(torch.float32).contiguous()
        blob = ctypes.string_at(tensor.data_ptr(), tensor.numel() * 4)
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [offset, offset + len(blob)]}
        offset += len(blob)
        blobs.append(blob)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def read_safetensors(path):
    content = path.read_bytes()
    begin = 8 + struct.unpack("<Q", content[:8])[0]
    tensors = {}
    for name, entry in json.loads(content[8:begin]).items():
        first, last = (begin + offset for offset in entry["data_offsets"])
        tensors[name] = torch.frombuffer(bytearray(content[first:last]), dtype=torch.float32).reshape(entry["shape"])
    return tensors


def files_of(case):
    first = case.starts_as or case.name
    return {
        "initial": f"{first}/initial.safetensors",
        "gradients": {str(s): f"{first if s == 1 else case.name}/gradients-{s:02}.safetensors" for s in KEPT_STEPS},
        "final": f"{case.name}/final.safetensors",
    }


def describe(case, run, single):
    return {
        "name": case.name,
        "model": asdict(case.model) | {"layer_norm_eps": LAYER_NORM_EPS, "gelu": "tanh"},
        "batch": case.batch,
        "accumulate": case.accumulate,
        "clip": case.clip,
        "optimizer": OPTIMIZER | {"decay": "tensors of two dimensions"},
        "steps": STEPS,
        "torch": torch.__version__,
        "files": files_of(case),
        "losses": run.losses,
        "gradient_norms": run.gradient_norms,
        "clip_scales": run.clip_scales,
        "float32": {
            "losses": single.losses,
            "worst_loss_error": max(abs(a - b) for a, b in zip(single.losses, run.losses)),
            "gradient_errors": {
                str(step): relative_distance(single.gradients[step], run.gradients[step]) for step in KEPT_STEPS
            },
        },
        "tokens": token_steps(case),
    }


def write(case, run, description):
    (DATA / case.name).mkdir(parents=True, exist_ok=True)
    files = description["files"]
    tensors = {files["initial"]: initial_weights(case), files["final"]: run.weights}
    tensors |= {files["gradients"][str(step)]: run.gradients[step] for step in KEPT_STEPS}
    for path, content in tensors.items():
        if path.startswith(case.name + "/"):
            write_safetensors(DATA / path, content)
    (DATA / case.name / "case.json").write_text(json.dumps(description) + "\n")


def differences(case, run):
    """What is stored against a run made now; double precision rounded to float32 leaves about 1e-7."""
    stored = json.loads((DATA / case.name / "case.json").read_text())
    files = stored["files"]
    found = {
        "loss": max(abs(a - b) for a, b in zip(stored["losses"], run.losses, strict=True)),
        "tokens": float(stored["tokens"] != token_steps(case)),
        "initial": relative_distance(read_safetensors(DATA / files["initial"]), initial_weights(case)),
        "final": relative_distance(read_safetensors(DATA / files["final"]), run.weights),
    }
    for step, path in files["gradients"].items():
        found[f"gradients {step}"] = relative_distance(read_safetensors(DATA / path), run.gradients[int(step)])
    return {what: distance for what, distance in found.items() if not distance <= 1e-6}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with what is stored, write nothing")
    check = parser.parse_args().check
    torch.set_num_threads(1)
    wrong = 0
    for case in CASES:
        run = train(case, torch.float64)
        if check:
            found = differences(case, run)
            print(f"{case.name}: {found or 'as stored'}")
            wrong += bool(found)
            continue
        description = describe(case, run, train(case, torch.float32))
        write(case, run, description)
        single = description["float32"]
        print(
            f"{case.name}: loss {run.losses[0]:.4f} to {run.losses[-1]:.4f}, clipped in "
            f"{sum(s < 1 for s in run.clip_scales)} of {STEPS} steps; float32 alone is off by "
            f"{single['worst_loss_error']:.1e} in the loss, {max(single['gradient_errors'].values()):.1e} in the gradients"
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
