"""A saved model as other programs see it: read with the safetensors package if it is installed, and checked against the format
by hand."""

import math
import struct

from harness import *


def read_by_hand(path):
    """Names to shapes; every rule of the format checked."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    end = 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        first, last = entry["data_offsets"]
        assert entry["dtype"] == "F32" and first == end, f"{name} does not follow the tensor before it"
        assert last - first == 4 * math.prod(entry["shape"]), name
        end = last
    assert len(data) == 8 + length + end and length % 8 == 0
    numbers = struct.unpack(f"<{end // 4}f", data[8 + length :])
    assert all(map(math.isfinite, numbers)) and any(numbers)
    return {name: tuple(entry["shape"]) for name, entry in header.items()}


def expected(layers, dim, ff, context, vocab, tied):
    """Names and shapes as GPT-2 checkpoints have them: weights are (in, out)."""
    shapes = {"wte.weight": (vocab, dim), "wpe.weight": (context, dim)}
    for i in range(layers):
        h = f"h.{i}."
        shapes |= {h + "ln_1.weight": (dim,), h + "ln_1.bias": (dim,), h + "attn.c_attn.weight": (dim, 3 * dim),
                   h + "attn.c_attn.bias": (3 * dim,), h + "attn.c_proj.weight": (dim, dim), h + "attn.c_proj.bias": (dim,),
                   h + "ln_2.weight": (dim,), h + "ln_2.bias": (dim,), h + "mlp.c_fc.weight": (dim, ff), h + "mlp.c_fc.bias": (ff,),
                   h + "mlp.c_proj.weight": (ff, dim), h + "mlp.c_proj.bias": (dim,)}
    shapes |= {"ln_f.weight": (dim,), "ln_f.bias": (dim,)}
    if not tied:
        shapes |= {"lm_head.weight": (vocab, dim), "lm_head.bias": (vocab,)}
    return shapes


with Temporary() as place:
    quick = ["--iterations", 3, "--json", "--eval-every", 0, "--sample-every", 0, "--layers", 2]
    for preset, shape in (("tiny", (2, 64, 128, 128, 35, False)), ("nano", (2, 128, 512, 64, 35, True))):
        result = run(place.path, "train", f"--{preset}", "--out", preset, *quick).json()
        path = place.path / preset / "step-000003" / "model.safetensors"
        found, wanted = read_by_hand(path), expected(*shape)
        assert found == wanted, f"missing or other: {sorted(wanted.items() ^ found.items())}"
        assert sum(map(math.prod, found.values())) == result["parameters"]
        moments = read_by_hand(path.with_name("optimizer.safetensors"))
        assert sum(map(math.prod, moments.values())) == 2 * result["parameters"], "two moments a parameter"
        try:
            from safetensors import safe_open
        except ImportError:
            print("the safetensors package is not installed; read by hand only")
            continue
        with safe_open(path, framework="np") as opened:
            assert {key: tuple(opened.get_slice(key).get_shape()) for key in opened.keys()} == wanted
