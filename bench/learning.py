#!/usr/bin/env python3
"""What fine-tuning learns, measured against what can be known.

    python3 bench/learning.py grammar PROGRAM FOLDER    # models of 1 M parameters against the entropy floor of the grammar
    python3 bench/learning.py adapters PROGRAM FOLDER   # adapters against all parameters, from the Llama of `grammar`

`grammar` makes random models in the shapes of GPT-2 and Llama and trains all their parameters on sentences of the embedded grammar, one token a
character. A row is a sentence: the newline before it is given, and the token that ends a text stands for its own newline, so that the
lowest expected loss is the entropy rate of the grammar. `adapters` continues the Llama on the same sentences with their words in reverse
order, which have the same entropy, once with all parameters and once with adapters. Needs numpy. SHORT=1 in the environment takes a hundredth
of the steps, to see that everything runs.
"""
import json
import os
import pathlib
import random
import re
import struct
import subprocess
import sys
import time

SOURCE = pathlib.Path(__file__).resolve().parents[1]
ENTROPY_RATE = 0.450643  # docs/data.md; tests/data/grammar_test.cpp computes it
SHORT = bool(os.environ.get("SHORT"))
THREADS = int(os.environ.get("THREADS", 2))


# --- the embedded grammar ---

def read_rules():
    """The rules as src/data/english.cpp has them: name -> [(weight, [piece, ...])], a piece being a text or a (name,)."""
    text = re.search(r'R"rules\((.*?)\)rules"', (SOURCE / "src/data/english.cpp").read_text(), re.S)[1]
    rules, name = {}, None
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if not line[0].isspace():
            name, line = line.split(":", 1)
            rules[name] = ""
        rules[name] += line
    first = next(iter(rules))
    parsed = {}
    for name, alternatives in rules.items():
        parsed[name] = []
        for alternative in alternatives.split("|"):
            weight, rest = re.fullmatch(r"\s*(\d+)?\s*(.*?)\s*", alternative).groups()
            pieces = [(part[1:-1],) if part.startswith("<") else part.replace("_", " ").replace("/", "\n")
                      for part in re.findall(r"<[^>]*>|[^<\s]+", rest)]
            parsed[name].append((int(weight or 1), pieces))
    return parsed, first


def sentences(count, seed):
    rules, first = read_rules()
    draw = random.Random(seed)

    def expand(name):
        alternatives = rules[name]
        (_, pieces), = draw.choices(alternatives, weights=[weight for weight, _ in alternatives])
        return "".join(expand(piece[0]) if isinstance(piece, tuple) else piece for piece in pieces)
    return [expand(first).rstrip("\n") for _ in range(count)]


def backwards(sentence):
    """Its words in reverse order: another grammar over the same words, with exactly the entropy and length of the first."""
    return " ".join(reversed(sentence.split(" ")))


def write_sentences(path, lines):
    path.write_text("".join(json.dumps({"prompt": "\n", "completion": line}) + "\n" for line in lines))


# --- models ---

def byte_characters():
    """The characters that stand for bytes in a byte-level vocabulary."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in plain]
    return {**{b: chr(b) for b in plain}, **{b: chr(256 + i) for i, b in enumerate(rest)}}


def byte_tokenizer():
    vocabulary = {character: i for i, character in enumerate(byte_characters()[b] for b in range(256))}
    return {"version": "1.0", "added_tokens": [{"id": 256, "content": "<|end|>", "special": True}], "normalizer": None,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
            "post_processor": None, "decoder": {"type": "ByteLevel"}, "model": {"type": "BPE", "vocab": vocabulary, "merges": []}}


def shapes(family, vocabulary, dim, ff, layers, positions):
    """Name, shape and deviation of the start; None for gains, which start at one."""
    if family == "gpt2":
        yield "transformer.wte.weight", (vocabulary, dim), .02
        yield "transformer.wpe.weight", (positions, dim), .02
        for n in range(layers):
            h = f"transformer.h.{n}."
            for name, shape in (("attn.c_attn", (dim, 3 * dim)), ("attn.c_proj", (dim, dim)), ("mlp.c_fc", (dim, ff)), ("mlp.c_proj", (ff, dim))):
                yield f"{h}{name}.weight", shape, .04
                yield f"{h}{name}.bias", (shape[1],), 0
            for name in ("ln_1", "ln_2"):
                yield f"{h}{name}.weight", (dim,), None
                yield f"{h}{name}.bias", (dim,), 0
        yield "transformer.ln_f.weight", (dim,), None
        yield "transformer.ln_f.bias", (dim,), 0
        return
    yield "model.embed_tokens.weight", (vocabulary, dim), .02
    for n in range(layers):
        h = f"model.layers.{n}."
        for name in ("q", "k", "v", "o"):
            yield f"{h}self_attn.{name}_proj.weight", (dim, dim), .04
        for name, shape in (("gate", (ff, dim)), ("up", (ff, dim)), ("down", (dim, ff))):
            yield f"{h}mlp.{name}_proj.weight", shape, .04
        for name in ("input", "post_attention"):
            yield f"{h}{name}_layernorm.weight", (dim,), None
    yield "model.norm.weight", (dim,), None


def make_model(folder, family, tokenizer, vocabulary, dim=128, ff=344, layers=5, heads=4, positions=256):
    """A model folder with random weights; the number of its parameters."""
    import numpy
    folder.mkdir(parents=True, exist_ok=True)
    if family == "gpt2":
        ff = 4 * dim
    if family == "gpt2":
        config = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": dim, "n_layer": layers, "n_head": heads, "n_positions": positions,
                  "n_inner": ff, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5}
    else:
        config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": dim, "intermediate_size": ff, "num_hidden_layers": layers,
                  "num_attention_heads": heads, "num_key_value_heads": heads, "max_position_embeddings": positions, "rms_norm_eps": 1e-5,
                  "rope_theta": 10000.0, "hidden_act": "silu"}
    (folder / "config.json").write_text(json.dumps({**config, "vocab_size": vocabulary, "tie_word_embeddings": True, "torch_dtype": "float32"}))
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": "<|end|>", "tokenizer_class": "PreTrainedTokenizerFast"}))
    draw = numpy.random.default_rng(1)
    header, content = {}, b""
    for name, shape, deviation in shapes(family, vocabulary, dim, ff, layers, positions):
        values = numpy.ones(shape, "f4") if deviation is None else (deviation * draw.standard_normal(shape)).astype("f4")
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(content), len(content) + values.nbytes]}
        content += values.tobytes()
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + content)
    return len(content) // 4


# --- runs ---

def plimsoll(program, *arguments):
    """The object a command prints."""
    done = subprocess.run([program, *map(str, arguments), "--json"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, done.args))}: {done.stderr}")
    return json.loads(done.stdout)


def train(program, model, data, out, steps, rate, *more):
    began = time.monotonic()
    subprocess.run(["rm", "-rf", str(out)], check=True)
    plimsoll(program, "train", "--model", model, "--data", data, "--out", out, "--iterations", max(20, steps // 100) if SHORT else steps, "--lr", rate,
             "--min-lr", rate / 20, "--warmup", 20 if SHORT else 100, "--eval-every", 0, "--sample-every", 0, "--checkpoint-every", 0, "--threads", THREADS, *more)
    return time.monotonic() - began


def loss(program, what, data):
    found = plimsoll(program, "eval", *what, "--data", data, "--all", "--threads", THREADS)
    return found["loss"], found["targets"]


def grammar(program, folder):
    train_rows, unseen = folder / "sentences.jsonl", folder / "sentences-unseen.jsonl"
    write_sentences(train_rows, sentences(60_000, 1))
    write_sentences(unseen, sentences(4_000, 2))
    for family in ("gpt2", "llama"):
        model = folder / family
        parameters = make_model(model, family, byte_tokenizer(), 257)
        seconds = train(program, model, train_rows, folder / f"{family}-run", 2500, 3e-3, "--context", 128, "--batch", 4)
        found, targets = loss(program, [folder / f"{family}-run"], unseen)
        print(f"{family}: {parameters:,} parameters, {seconds:.0f} s; loss on {targets:,} unseen characters {found:.4f}, "
              f"{100 * (found / ENTROPY_RATE - 1):.1f} % above the floor of {ENTROPY_RATE}", flush=True)


def adapters(program, folder):
    rows, unseen = folder / "backwards.jsonl", folder / "backwards-unseen.jsonl"
    write_sentences(rows, map(backwards, sentences(30_000, 3)))
    write_sentences(unseen, map(backwards, sentences(4_000, 4)))
    base = folder / "llama-trained"
    subprocess.run(["rm", "-rf", str(base)], check=True)
    subprocess.run([program, "export", folder / "llama-run", "--merged", base, "--dtype", "f32"], check=True, capture_output=True)
    before, _ = loss(program, ["--model", base, "--context", 128], unseen)
    after = {}
    for name, rate, more in (("all parameters", 1e-3, ()), ("adapters", 3e-3, ("--lora-rank", 16))):
        out = folder / f"backwards-{name.split()[0]}"
        seconds = train(program, base, rows, out, 1000, rate, "--context", 128, "--batch", 4, *more)
        after[name], _ = loss(program, [out], unseen)
        print(f"{name}: {seconds:.0f} s, loss {before:.4f} -> {after[name]:.4f}, {100 * (after[name] / ENTROPY_RATE - 1):.1f} % above the floor", flush=True)
    share = (before - after["adapters"]) / (before - after["all parameters"])
    print(f"adapters recover {100 * share:.1f} % of what all parameters do")


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in ("grammar", "adapters"):
        sys.exit(__doc__)
    what, program, folder = sys.argv[1], str(pathlib.Path(sys.argv[2]).resolve()), pathlib.Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    {"grammar": grammar, "adapters": adapters}[what](program, folder)


if __name__ == "__main__":
    main()
