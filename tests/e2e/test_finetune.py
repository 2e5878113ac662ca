#!/usr/bin/env python3
"""Published models without their programs: refusals by name, exact resume, what a frozen model costs, exports."""
import array
import json
import os
import random
import shutil
import struct
import sys
import time

import harness

DIM, FF, LAYERS, HEADS, KV, VOCAB = 32, 48, 2, 4, 2, 256
CONFIG = {"architectures": ["LlamaForCausalLM"], "hidden_size": DIM, "intermediate_size": FF, "num_hidden_layers": LAYERS,
          "num_attention_heads": HEADS, "num_key_value_heads": KV, "vocab_size": VOCAB, "max_position_embeddings": 64,
          "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu", "tie_word_embeddings": True,
          "torch_dtype": "float32"}


def shapes():
    kv = DIM // HEADS * KV
    yield "model.embed_tokens.weight", [VOCAB, DIM]
    for layer in range(LAYERS):
        h = f"model.layers.{layer}."
        for name, shape in (("input_layernorm", [DIM]), ("self_attn.q_proj", [DIM, DIM]), ("self_attn.k_proj", [kv, DIM]),
                            ("self_attn.v_proj", [kv, DIM]), ("self_attn.o_proj", [DIM, DIM]),
                            ("post_attention_layernorm", [DIM]), ("mlp.gate_proj", [FF, DIM]), ("mlp.up_proj", [FF, DIM]),
                            ("mlp.down_proj", [DIM, FF])):
            yield f"{h}{name}.weight", shape
    yield "model.norm.weight", [DIM]


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path):
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8:8 + length])
    return {name: raw[8 + length + entry["data_offsets"][0]:8 + length + entry["data_offsets"][1]]
            for name, entry in header.items() if name != "__metadata__"}


def tensors(dtype="F32"):
    made = {}
    for name, shape in shapes():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        numbers = random.Random(name)
        values = array.array("f", (numbers.gauss(1 if "norm" in name else 0, .1) for _ in range(count)))
        content = values.tobytes()
        if dtype == "BF16":
            content = b"".join(content[i + 2:i + 4] for i in range(0, len(content), 4))
        made[name] = (dtype, shape, content)
    return made


def write_shards(folder, weights, count):
    """Instead of the one file."""
    (folder / "model.safetensors").unlink()
    index = {}
    for i in range(count):
        part = dict(list(weights.items())[i::count])
        write_safetensors(folder / f"part-{i}.safetensors", part)
        index.update({name: f"part-{i}.safetensors" for name in part})
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": index}))
    return index


def make_model(folder, config=None, weights=None):
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({**CONFIG, **(config or {})}))
    (folder / "tokenizer_config.json").write_text("{}")
    write_safetensors(folder / "model.safetensors", weights or tensors())
    return folder


def train(folder, model, *options, **expected):
    return harness.run(folder, "train", "--model", model, "--tokenizer", "bytes", "--data", "text.txt", "--context", 16,
                       "--batch", 2, "--eval-every", 0, "--threads", 1, *options, **expected)


def refused(folder, model, *words, options=()):
    ended = harness.run(folder, "plan", "--model", model, "--tokenizer", "bytes", *options, expect=2)
    lines = ended.err.strip().splitlines()
    assert len(lines) == 1, ended
    for word in words:
        assert word in lines[0], (word, lines[0])


def refusals(folder):
    """Every flaw is one line that names it, and nothing is written."""
    number = iter(range(1000))

    def model(config=None, weights=None):
        return make_model(folder / f"bad-{next(number)}", config, weights)

    refused(folder, "missing", "config.json")
    for key, value in (("architectures", ["MistralForCausalLM"]), ("hidden_act", "gelu"), ("use_sliding_window", True),
                       ("quantization_config", {"bits": 4}), ("pretraining_tp", 2), ("rope_interleaved", True),
                       ("layer_types", ["full_attention", "sliding_attention"]), ("partial_rotary_factor", 0.5),
                       ("vocab_size", 2 ** 60), ("num_hidden_layers", -1), ("hidden_size", 1.5), ("rms_norm_eps", "x"),
                       ("num_experts", 8), ("final_logit_softcapping", 30.0), ("is_causal", False),
                       ("model_type", "mistral")):
        refused(folder, model({key: value}), value[0] if key == "architectures" else key)
    refused(folder, model({"rope_scaling": {"rope_type": "yarn", "factor": 2.0}}), "rope_type", "yarn")
    llama3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    for missing in ("factor", "low_freq_factor", "high_freq_factor"):
        refused(folder, model({"rope_scaling": {k: v for k, v in llama3.items() if k != missing}}), missing, "missing")
    refused(folder, model({"rope_scaling": {"rope_type": "linear", "factor": 2.0}, "rope_parameters": llama3}), "differently")
    refused(folder, model({"rope_scaling": llama3, "rope_parameters": {**llama3, "rope_theta": 777.0}}), "differently")
    refused(folder, model({"num_attention_heads": 3}), "3 heads")

    whole = tensors()
    name = "model.layers.1.mlp.up_proj.weight"
    refused(folder, model(weights={k: v for k, v in whole.items() if k != name}), name, "missing")
    refused(folder, model(weights={**whole, "model.extra": whole["model.norm.weight"]}), "model.extra")
    refused(folder, model(weights={**whole, name: ("F32", [DIM, FF], whole[name][2])}), name, "[32, 48]", "[48, 32]")
    refused(folder, model(weights={**whole, "model.norm.weight": ("F64", [DIM], bytes(8 * DIM))}), "F64")
    cut = model()
    (cut / "model.safetensors").write_bytes((cut / "model.safetensors").read_bytes()[:-10])
    refused(folder, cut, "model.safetensors")
    raw = (folder / "good" / "model.safetensors").read_bytes()
    overlapping = model()
    (overlapping / "model.safetensors").write_bytes(raw.replace(b'"data_offsets": [32768, ', b'"data_offsets": [32760, ', 1))
    refused(folder, overlapping, "model.safetensors")

    good = folder / "good"
    refused(folder, good, "--layers", options=("--layers", 3))
    refused(folder, good, "context", "64", options=("--context", 65))
    refused(folder, good, "x_proj", "q_proj", options=("--lora-rank", 4, "--lora-targets", "x_proj"))
    refused(folder, good, "lora_targets", options=("--lora-rank", 4, "--lora-targets", "(q_proj"))
    # Tried on every module in time in proportion to its name; other engines need one exponential in it.
    refused(folder, good, "matches no module", options=("--lora-rank", 4, "--lora-targets", r"((\w|\.)+)+!"))
    refused(folder, good, "lora_alpha", options=("--lora-alpha", 4))
    refused(folder, good, "train_last", options=("--lora-rank", 4, "--train-last", 1))
    refused(folder, good, "train_last", options=("--train-last", 3))
    refused(folder, good, "stream", options=("--stream", "on"))
    harness.run(folder, "plan", "--model", good, "--tokenizer", "bytes", "--lora-rank", 4, "--lora-targets", "q_proj, v_proj")
    ended = harness.run(folder, "plan", "--lora-rank", 4, expect=2)
    assert "--model" in ended.err, ended
    assert not (folder / "runs").exists()


def shards(folder):
    """Two files and an index give the bits of one file; a hostile index is refused."""
    whole = tensors()
    split = folder / "sharded"
    make_model(split)
    index = write_shards(split, whole, 2)
    ask = ("--tokenizer", "bytes", "--data", "text.txt", "--context", 16, "--json")
    one = harness.run(folder, "eval", "--model", "good", *ask).json()
    two = harness.run(folder, "eval", "--model", "sharded", *ask).json()
    assert one == two and one["targets"] > 100, (one, two)
    name = next(iter(index))
    for changed, word in (({**index, name: "../good/model.safetensors"}, "no file of the folder"),
                          ({**index, name: "part-1.safetensors"}, name), ({**index, "model.more": "part-0.safetensors"}, "model.more"),
                          ({f"t{i}": f"f{i}" for i in range(2000)}, "1000"), ({}, "empty")):
        (split / "model.safetensors.index.json").write_text(json.dumps({"weight_map": changed}))
        refused(folder, "sharded", word)


def first_context(folder):
    """The context that llama3 scaling begins with may stand beside the other keys; there it wins, as in transformers."""
    scaling = {"rope_type": "llama3", "rope_theta": 500.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    key, losses = "original_max_position_embeddings", []
    for name, config in (("within", {"rope_parameters": {**scaling, key: 16}}), ("beside", {key: 16, "rope_parameters": scaling}),
                         ("both", {key: 16, "rope_parameters": {**scaling, key: 32}}), ("neither", {"rope_parameters": scaling})):
        make_model(folder / f"rope-{name}", config)
        losses.append(harness.run(folder, "eval", "--model", f"rope-{name}", "--tokenizer", "bytes", "--data", "text.txt", "--context", 48,
                                  "--json").json()["loss"])
    assert losses[0] == losses[1] == losses[2] != losses[3], losses


def tied_head(folder):
    """A head that is stored and tied must be the embedding."""
    embedding = tensors()["model.embed_tokens.weight"]
    ask = ("--tokenizer", "bytes", "--data", "text.txt", "--context", 16, "--json")
    make_model(folder / "copied", weights={**tensors(), "lm_head.weight": embedding})
    assert harness.run(folder, "eval", "--model", "copied", *ask).json() == harness.run(folder, "eval", "--model", "good", *ask).json()
    # Shards list it, too; what is exported does not have it, and says so.
    index = write_shards(make_model(folder / "copied-shards"), {**tensors(), "lm_head.weight": embedding}, 2)
    train(folder, "copied-shards", "--lora-rank", 4, "--iterations", 1, "--out", "of-shards")
    for dtype, size in (("same", 4), ("bf16", 2)):
        harness.run(folder, "export", "of-shards", "--merged", f"merged-{dtype}-shards", "--dtype", dtype)
        written = json.loads((folder / f"merged-{dtype}-shards" / "model.safetensors.index.json").read_text())
        assert written["weight_map"] == {name: file for name, file in index.items() if name != "lm_head.weight"}, written
        assert written["metadata"]["total_size"] == size * sum(s[0] * (s[1] if len(s) > 1 else 1) for _, s in shapes()), written
        harness.run(folder, "eval", "--model", f"merged-{dtype}-shards", *ask)
    make_model(folder / "other", weights={**tensors(), "lm_head.weight": (*embedding[:2], embedding[2][4:] + embedding[2][:4])})
    ended = harness.run(folder, "eval", "--model", "other", *ask, expect=2)
    assert "lm_head.weight" in ended.err and "tie_word_embeddings" in ended.err and len(ended.err.strip().splitlines()) == 1, ended


def exact_resume(folder):
    """Twenty steps are ten and ten more, byte for byte; a checkpoint has what is trained and refers to the rest."""
    for name, options in (("lora", ("--lora-rank", 4, "--lora-dropout", 0.1)),
                          ("8bit", ("--lora-rank", 4, "--optimizer", "adamw_8bit")), ("last", ("--train-last", 1)), ("all", ())):
        common = ("--checkpoint-every", 10, "--min-lr", "2e-4", "--lr", "2e-4", "--warmup", 0, *options)
        train(folder, "good", "--iterations", 20, "--out", f"{name}-whole", *common)
        train(folder, "good", "--iterations", 10, "--out", f"{name}-parts", *common)
        harness.run(folder, "train", "--resume", f"{name}-parts", "--iterations", 20, "--threads", 1)
        for file in ("model.safetensors", "optimizer.safetensors"):
            whole = read_safetensors(folder / f"{name}-whole" / "step-000020" / file)
            assert whole == read_safetensors(folder / f"{name}-parts" / "step-000020" / file), (name, file)
            assert whole != read_safetensors(folder / f"{name}-whole" / "step-000010" / file), (name, file)
    adapters = read_safetensors(folder / "lora-whole" / "step-000020" / "model.safetensors")
    assert len(adapters) == 2 * 7 * LAYERS and all("lora_" in name for name in adapters), sorted(adapters)
    last = read_safetensors(folder / "last-whole" / "step-000020" / "model.safetensors")
    assert all(".1." in name or name == "model.norm.weight" for name in last) and len(last) == 10, sorted(last)

    # Reports name the model, not the preset its settings began with.
    told = harness.run(folder, "report", "lora-whole").out
    assert told.startswith("Training run good,"), told[:80]

    # Other weights under the same name are not the base of this run; the same ones in another place are.
    shutil.copytree(folder / "good", folder / "moved")
    harness.run(folder, "eval", "lora-whole")
    harness.run(folder, "train", "--resume", "lora-parts", "--model", "moved", "--iterations", 21, "--threads", 1)
    # From another folder, and after the model has moved.
    (folder / "elsewhere").mkdir()
    here, there = (harness.run(place, "eval", folder / "lora-whole", "--json").json() for place in (folder, folder / "elsewhere"))
    assert here == there, (here, there)
    (folder / "good").rename(folder / "away")
    for command in (("eval", "lora-whole"), ("sample", "lora-whole", "--length", 3), ("export", "lora-whole", "--peft", "moved-adapter")):
        ended = harness.run(folder, *command, expect=2)
        assert "--model DIR" in ended.err and len(ended.err.strip().splitlines()) == 1, ended
        harness.run(folder, *command, "--model", "away")
    assert harness.run(folder, "eval", "lora-whole", "--model", "away", "--json").json() == here
    ended = harness.run(folder, "eval", "lora-whole", "--model", "away", "--context", 16, expect=2)
    assert "--context" in ended.err, ended
    (folder / "away").rename(folder / "good")
    # What is stored as 0 is twice the rank.
    harness.run(folder, "train", "--resume", "lora-parts", "--lora-alpha", 8, "--iterations", 22, "--threads", 1)
    ended = harness.run(folder, "train", "--resume", "lora-parts", "--lora-alpha", 9, "--iterations", 23, expect=2)
    assert "lora_alpha" in ended.err, ended

    # So is another computation with the same weights.
    for key, value in (("rope_theta", 500.0), ("rms_norm_eps", 1e-3), ("num_attention_heads", 2),
                       ("rope_scaling", {"rope_type": "linear", "factor": 2.0})):
        config = {**CONFIG, key: value, "num_key_value_heads": 1 if key == "num_attention_heads" else KV}
        (folder / "good" / "config.json").write_text(json.dumps(config))
        for command in (("eval", "lora-whole"), ("sample", "lora-whole"), ("train", "--resume", "lora-whole", "--iterations", 30),
                        ("export", "lora-whole", "--merged", "never")):
            ended = harness.run(folder, *command, expect=2)
            assert {"rope_scaling": "rope_type"}.get(key, key) in ended.err and len(ended.err.strip().splitlines()) == 1, ended
    (folder / "good" / "config.json").write_text(json.dumps({**CONFIG, "max_position_embeddings": 64, "torch_dtype": "float16"}))
    harness.run(folder, "eval", "lora-whole")
    (folder / "good" / "config.json").write_text(json.dumps(CONFIG))
    changed = tensors()
    changed["model.norm.weight"] = ("F32", [DIM], bytes(4 * DIM))
    write_safetensors(folder / "good" / "model.safetensors", changed)
    for command in (("eval", "lora-whole"), ("sample", "lora-whole"), ("train", "--resume", "lora-whole", "--iterations", 30),
                    ("export", "lora-whole", "--merged", "never")):
        ended = harness.run(folder, *command, expect=2)
        assert "checksum" in ended.err and len(ended.err.strip().splitlines()) == 1, ended
    write_safetensors(folder / "good" / "model.safetensors", tensors())


def memory(folder):
    """A frozen model in half precision takes half the bytes, and no gradients or moments."""
    make_model(folder / "half", weights=tensors("BF16"))

    def plan(model, *options):
        ended = harness.run(folder, "plan", "--model", model, "--tokenizer", "bytes", "--context", 16, "--json", *options)
        return ended.json()
    all_f32, frozen, half = plan("good"), plan("good", "--lora-rank", 4), plan("half", "--lora-rank", 4)
    weights = sum(s[0] * (s[1] if len(s) > 1 else 1) for _, s in shapes())
    matrices = sum(s[0] * s[1] for _, s in shapes() if len(s) > 1)
    adapters = frozen["parameters"] - weights
    assert all_f32["parameters"] == weights, all_f32
    assert all_f32["roles"]["optimizer"] == 8 * weights and frozen["roles"]["optimizer"] == 8 * adapters, frozen
    assert frozen["roles"]["parameters"] >= 4 * (weights + adapters), frozen
    assert half["dtypes"]["bf16"] == 2 * matrices, half


def streaming(folder):
    """Weights read when they are needed give the same bits in less memory; damage stops the run, which is saved."""
    ask = ("--lora-rank", 4, "--iterations", 20, "--checkpoint-every", 10)
    train(folder, "good", *ask, "--out", "kept", "--stream", "off")
    train(folder, "good", *ask, "--out", "streamed", "--stream", "on")
    harness.same_checkpoint(folder / "kept", folder / "streamed", 20)
    plans = [harness.run(folder, "plan", "--model", "good", "--tokenizer", "bytes", "--context", 16, "--lora-rank", 4, "--json",
                         "--stream", stream).json() for stream in ("off", "on")]
    assert plans[1]["plan_bytes"] < plans[0]["plan_bytes"] and plans[1]["stream"] and not plans[0]["stream"], plans
    blocks = sum(4 * s[0] * s[1] for name, s in shapes() if len(s) > 1 and "layers" in name)
    assert plans[1]["read_bytes_per_step"] >= 1.5 * blocks and plans[0]["read_bytes_per_step"] == 0, plans
    # Of so small a model streaming costs more than it saves: the least is without it, and holds.
    ask = ("plan", "--model", "good", "--tokenizer", "bytes", "--context", 16, "--lora-rank", 4)
    needs = {stream: int(harness.run(folder, *ask, "--memory", "1MB", "--stream", stream, expect=2).err.split("needs: ")[1].split()[0])
             for stream in ("auto", "on", "off")}
    assert needs["auto"] == needs["off"] < needs["on"], needs
    harness.run(folder, *ask, "--memory", needs["auto"] + 100_000)
    ways = [(way["memory_bytes"], way["predicted_ms_per_step"]) for way in harness.run(folder, *ask, "--sweep", "--json").json()["ways"]]
    assert ways == sorted(ways, key=lambda way: (-way[0], way[1])) and len({way[0] for way in ways}) == len(ways), ways

    # However many files there are, they are read through one buffer.
    write_shards(make_model(folder / "many-shards"), tensors(), 12)
    if not harness.SANITIZED:
        peaks = {model: train(folder, model, "--lora-rank", 4, "--iterations", 2, "--out", f"peak-{model}", "--stream", "on",
                              "--json").json()["peak_rss_bytes"] for model in ("good", "many-shards")}
        assert abs(peaks["many-shards"] - peaks["good"]) < 2_000_000, peaks

    def measured(*more):
        return (harness.run(folder, "eval", *more, "--data", "text.txt", "--json").json()["loss"],
                harness.run(folder, "sample", *more, "--prompt", "the", "--length", 20, "--temperature", 0, "--json").json()["text"])
    for what in (("kept",), ("--model", "good", "--tokenizer", "bytes", "--context", 16)):
        assert measured(*what) == measured(*what, "--stream", "on") == measured(*what, "--memory", "100MB"), what
    least = harness.run(folder, "eval", "kept", "--memory", "1MB", expect=2)
    assert "bytes at least; give --memory" in least.err, least

    shutil.copytree(folder / "good", folder / "fragile")
    running = harness.Running(folder, "train", "--model", "fragile", "--tokenizer", "bytes", "--data", "text.txt", "--context", 16,
                              "--lora-rank", 4, "--iterations", 100000, "--out", "damaged", "--stream", "on", "--eval-every", 0)
    while not harness.checkpoints(folder / "damaged"):
        assert running.alive(), running.wait()
        time.sleep(.05)
    weights = folder / "fragile" / "model.safetensors"
    with open(weights, "r+b") as file:
        file.seek(weights.stat().st_size - 4 * (DIM + DIM * FF // 2))  # in the middle of the last matrix of a block
        file.write(b"damaged!")
        file.flush()
        os.fsync(file.fileno())
    ended = running.wait()
    assert ended.code == 1 and "no longer what it was" in ended.err and "saved at iteration" in ended.err, ended
    shutil.rmtree(folder / "fragile")
    shutil.copytree(folder / "good", folder / "fragile")
    done = int(ended.err.rsplit("iteration", 1)[1])
    assert harness.checkpoints(folder / "damaged")[-1] == done, (done, harness.checkpoints(folder / "damaged"))
    harness.run(folder, "train", "--resume", "damaged", "--iterations", done + 1)


def export(folder):
    """Folders appear whole or not at all, and only where nothing is."""
    harness.run(folder, "export", "lora-whole", "--merged", "merged", "--dtype", "bf16")
    config = json.loads((folder / "merged" / "config.json").read_text())
    assert config == {**CONFIG, "torch_dtype": "bfloat16"}, config
    assert (folder / "merged" / "tokenizer_config.json").read_text() == "{}"
    before, after = tensors("BF16"), read_safetensors(folder / "merged" / "model.safetensors")
    assert set(before) == set(after)
    assert after["model.layers.0.mlp.up_proj.weight"] != before["model.layers.0.mlp.up_proj.weight"][2]
    assert (folder / "merged" / "adapter_config.json").exists() is False
    harness.run(folder, "export", "lora-whole", "--peft", "adapter")
    adapter = json.loads((folder / "adapter" / "adapter_config.json").read_text())
    assert adapter["r"] == 4 and adapter["lora_alpha"] == 8 and "q_proj" in adapter["target_modules"], adapter
    # What was merged is what the run computes: evaluating the merged model in f32 gives the run's loss.
    harness.run(folder, "export", "lora-whole", "--merged", "merged-f32", "--dtype", "f32")
    ours = harness.run(folder, "eval", "lora-whole", "--json").json()
    merged = harness.run(folder, "eval", "--model", "merged-f32", "--tokenizer", "bytes", "--context", 16, "--data", "text.txt",
                         "--json").json()
    assert abs(ours["loss"] - merged["loss"]) < 1e-5 * ours["loss"], (ours, merged)
    for arguments, word in ((("lora-whole", "--peft", "adapter"), "exists"), (("last-whole", "--peft", "new"), "--merged"),
                            (("lora-whole",), "--peft"), (("lora-whole", "--peft", "new", "--dtype", "f32"), "--dtype")):
        ended = harness.run(folder, "export", *arguments, expect=2)
        assert word in ended.err and len(ended.err.strip().splitlines()) == 1, ended
    assert not (folder / "new").exists() and not list(folder.glob(".new*")), list(folder.iterdir())


def main():
    with harness.Temporary() as temporary:
        folder = temporary.path
        words = random.Random(3)
        (folder / "text.txt").write_text("".join(words.choice("abcdefgh \n") for _ in range(4000)))
        make_model(folder / "good")
        refusals(folder)
        shards(folder)
        first_context(folder)
        tied_head(folder)
        memory(folder)
        streaming(folder)
        exact_resume(folder)
        export(folder)
    return 0


sys.exit(main())
