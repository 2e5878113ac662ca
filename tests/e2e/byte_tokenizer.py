"""A byte-level tokenizer small enough to check by hand, as Hugging Face writes them."""


def byte_characters():
    shown = [b for b in range(256) if 0x21 <= b <= 0x7E or (b >= 0xA1 and b != 0xAD)]
    hidden = [b for b in range(256) if b not in shown]
    return {**{b: chr(b) for b in shown}, **{b: chr(256 + i) for i, b in enumerate(hidden)}}


def tokenizer():
    vocabulary = {character: byte for byte, character in byte_characters().items()}
    vocabulary.update({"th": 256, "the": 257})
    return {"added_tokens": [{"id": 258, "content": "<|end|>", "special": True, "normalized": False}], "normalizer": None,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False}, "post_processor": None, "decoder": {"type": "ByteLevel"},
            "model": {"type": "BPE", "vocab": vocabulary, "merges": ["t h", "th e"]}}
