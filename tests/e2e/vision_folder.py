"""Folders of vision-language models as Hugging Face writes them, with a byte tokenizer, and pictures: the standard library alone."""
import json
import random
import struct
import zlib

from byte_tokenizer import tokenizer

TEMPLATE = ("<|im_start|>{% for message in messages %}{{message['role'] | capitalize}}{% if message['content'][0]['type'] == 'image' %}{{':'}}"
            "{% else %}{{': '}}{% endif %}{% for line in message['content'] %}{% if line['type'] == 'text' %}{{line['text']}}{% elif "
            "line['type'] == 'image' %}{{ '<image>' }}{% endif %}{% endfor %}<end_of_utterance>\n{% endfor %}"
            "{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}")
SPECIAL = ["<|im_start|>", "<end_of_utterance>", "<image>", "<fake_token_around_image>", "<global-img>",
           *(f"<row_{r}_col_{c}>" for r in (1, 2) for c in (1, 2))]
FIRST_SPECIAL = 259
IMAGE = FIRST_SPECIAL + SPECIAL.index("<image>")
VOCABULARY = 280


def write_processing(folder, tile, longest, split=True):
    """How text becomes tokens and pictures become tiles; returns the latter's settings."""
    made = tokenizer()
    made["added_tokens"] = [{"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True,
                             "id": FIRST_SPECIAL - 1 + i, "content": text} for i, text in enumerate(["<|end|>", *SPECIAL])]
    made["pre_tokenizer"].update(trim_offsets=True, use_regex=True)
    made["decoder"].update(add_prefix_space=False, trim_offsets=True, use_regex=True)
    made.update(version="1.0", truncation=None, padding=None)
    settings = {"do_image_splitting": split, "max_image_size": {"longest_edge": tile}, "size": {"longest_edge": longest}, "resample": 1,
                "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "rescale_factor": 1 / 255}
    for name, value in (("tokenizer.json", made), ("preprocessor_config.json", settings),
                        ("tokenizer_config.json", {"chat_template": TEMPLATE, "eos_token": "<end_of_utterance>"})):
        (folder / name).write_text(json.dumps(value))
    return settings


def vision_config(text, tower, scale, dtype="float32"):
    """config.json of (hidden, feed-forward, layers, heads, heads of keys, vocabulary) and (hidden, feed-forward, layers, heads, tile, patch)."""
    dim, ff, layers, heads, kv, vocabulary = text
    seen, seen_ff, seen_layers, seen_heads, tile, patch = tower
    return {"architectures": ["Idefics3ForConditionalGeneration"], "model_type": "idefics3", "image_token_id": IMAGE, "scale_factor": scale,
            "tie_word_embeddings": False, "torch_dtype": dtype,
            "text_config": {"model_type": "llama", "hidden_size": dim, "intermediate_size": ff, "num_hidden_layers": layers,
                            "num_attention_heads": heads, "num_key_value_heads": kv, "head_dim": dim // heads, "vocab_size": vocabulary,
                            "max_position_embeddings": 8192, "rms_norm_eps": 1e-5, "rope_theta": 1e5, "hidden_act": "silu",
                            "tie_word_embeddings": False},
            "vision_config": {"model_type": "idefics3_vision", "hidden_size": seen, "intermediate_size": seen_ff, "num_hidden_layers": seen_layers,
                              "num_attention_heads": seen_heads, "image_size": tile, "patch_size": patch, "layer_norm_eps": 1e-6,
                              "hidden_act": "gelu_pytorch_tanh"}}


def vision_tensors(config):
    """Names and shapes of the weights, as published files have them."""
    text, tower = config["text_config"], config["vision_config"]
    dim, ff, kv = text["hidden_size"], text["intermediate_size"], text["num_key_value_heads"] * text["head_dim"]
    seen, seen_ff, patch = tower["hidden_size"], tower["intermediate_size"], tower["patch_size"]
    base = "model.vision_model."
    yield base + "embeddings.patch_embedding.weight", (seen, 3, patch, patch)
    yield base + "embeddings.patch_embedding.bias", (seen,)
    yield base + "embeddings.position_embedding.weight", ((tower["image_size"] // patch) ** 2, seen)
    for layer in range(tower["num_hidden_layers"]):
        h = f"{base}encoder.layers.{layer}."
        for part, out, into in (*((f"self_attn.{p}_proj", seen, seen) for p in ("q", "k", "v")), ("self_attn.out_proj", seen, seen),
                                ("mlp.fc1", seen_ff, seen), ("mlp.fc2", seen, seen_ff)):
            yield f"{h}{part}.weight", (out, into)
            yield f"{h}{part}.bias", (out,)
        for norm in ("layer_norm1", "layer_norm2"):
            yield f"{h}{norm}.weight", (seen,)
            yield f"{h}{norm}.bias", (seen,)
    yield base + "post_layernorm.weight", (seen,)
    yield base + "post_layernorm.bias", (seen,)
    yield "model.connector.modality_projection.proj.weight", (dim, seen * config["scale_factor"] ** 2)
    base = "model.text_model."
    yield base + "embed_tokens.weight", (text["vocab_size"], dim)
    for layer in range(text["num_hidden_layers"]):
        h = f"{base}layers.{layer}."
        for part, out, into in (("self_attn.q_proj", dim, dim), ("self_attn.k_proj", kv, dim), ("self_attn.v_proj", kv, dim),
                                ("self_attn.o_proj", dim, dim), ("mlp.gate_proj", ff, dim), ("mlp.up_proj", ff, dim), ("mlp.down_proj", dim, ff)):
            yield f"{h}{part}.weight", (out, into)
        yield h + "input_layernorm.weight", (dim,)
        yield h + "post_attention_layernorm.weight", (dim,)
    yield base + "norm.weight", (dim,)
    yield "lm_head.weight", (text["vocab_size"], dim)


def make_tiny(folder, tile=32, split=True):
    """A tiny model in f32 whose pictures are one tile, or up to five with `split`."""
    rng = random.Random(5)
    folder.mkdir()
    config = vision_config((48, 80, 2, 4, 2, VOCABULARY), (40, 72, 2, 4, tile, 8), 2)
    (folder / "config.json").write_text(json.dumps(config))
    header, parts, offset = {}, [], 0
    for name, shape in vision_tensors(config):
        count = 1
        for edge in shape:
            count *= edge
        if len(shape) > 1:
            values = [rng.gauss(0, 0.15) for _ in range(count)]
        else:
            values = [(0 if name.endswith("bias") else 1) + rng.gauss(0, 0.1) for _ in range(count)]
        parts.append(struct.pack(f"<{count}f", *values))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [offset, offset + 4 * count]}
        offset += 4 * count
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + b"".join(parts))
    write_processing(folder, tile, 2 * tile, split)


def png(width, height, pixels):
    """An RGB picture of `height` rows of 3 x `width` bytes."""
    def chunk(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
    rows = b"".join(b"\0" + pixels[3 * width * y:3 * width * (y + 1)] for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))


def make_png(rng, width, height):
    """Bands of colour with a little noise."""
    row = [bytes(rng.randrange(256) for _ in range(3)) * width for _ in range(4)]
    return png(width, height, b"".join(row[y * 4 // height] for y in range(height)))


def make_rows(folder, count, seed=1, sizes=(20, 90), formats=()):
    """`count` pictures in folder/pictures and rows.jsonl that ask about each once; every third is of `formats`, files given as they are."""
    rng = random.Random(seed)
    (folder / "pictures").mkdir()
    rows = []
    for i in range(count):
        name = f"{i:05}.png"
        if formats and i % 3 == 0:
            source = formats[i // 3 % len(formats)]
            name = f"{i:05}{source.suffix}"
            data = source.read_bytes()
        else:
            data = make_png(rng, rng.randint(*sizes), rng.randint(*sizes))
        (folder / "pictures" / name).write_bytes(data)
        rows.append({"text": "what?", "image": name, "response": f"it is {i % 7}"})
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return rows
