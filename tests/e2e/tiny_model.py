"""A tiny model folder as Hugging Face writes them, made without any package: config.json, model.safetensors, tokenizer.json."""
import json
import random
import struct

from byte_tokenizer import tokenizer

CHATML = "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n'}}{% endfor %}"


def llama_shapes(vocabulary, dim, ff, layers):
    yield "model.embed_tokens.weight", (vocabulary, dim)
    for n in range(layers):
        layer = f"model.layers.{n}."
        for name in ("q", "k", "v", "o"):
            yield f"{layer}self_attn.{name}_proj.weight", (dim, dim)
        for name in ("gate", "up"):
            yield f"{layer}mlp.{name}_proj.weight", (ff, dim)
        yield f"{layer}mlp.down_proj.weight", (dim, ff)
        for name in ("input", "post_attention"):
            yield f"{layer}{name}_layernorm.weight", (dim,)
    yield "model.norm.weight", (dim,)


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, (shape, values) in tensors.items():
        raw = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def make_model(folder, chat_template=CHATML, dim=16, ff=32, layers=1, seed=1, positions=256):
    """A Llama with one byte a token, "th", "the", and the special tokens of ChatML."""
    folder.mkdir()
    made = tokenizer()
    made["added_tokens"] += [{"id": 259, "content": "<|im_start|>", "special": True}, {"id": 260, "content": "<|im_end|>", "special": True}]
    (folder / "tokenizer.json").write_text(json.dumps(made))
    config = {"eos_token": "<|end|>"}
    if chat_template:
        config["chat_template"] = chat_template
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    vocabulary = 264  # a few more rows than tokens, as real models have
    (folder / "config.json").write_text(json.dumps({
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": dim, "intermediate_size": ff, "num_hidden_layers": layers,
        "num_attention_heads": 2, "num_key_value_heads": 2, "vocab_size": vocabulary, "max_position_embeddings": positions,
        "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": True, "hidden_act": "silu", "attention_bias": False,
        "torch_dtype": "float32"}))
    draw = random.Random(seed)
    tensors = {}
    for name, shape in llama_shapes(vocabulary, dim, ff, layers):
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        tensors[name] = shape, [1.0] * count if len(shape) == 1 else [draw.gauss(0, 0.1) for _ in range(count)]
    write_safetensors(folder / "model.safetensors", tensors)
