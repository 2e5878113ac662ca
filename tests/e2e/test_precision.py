"""--precision bf16 trains to nearly the losses of f32, with the same bits on any number of threads, and is kept by a resume; a
processor or kernels without it are refused in one line."""

from harness import *

BOUND = 0.01  # nats, as docs/performance.md says


def train(place, out, *more, expect=0):
    return run(place, "train", "--tiny", 80, "--batch", 4, "--micro-batch", 2, "--lanes", 1, "--eval-every", 0, "--sample-every", 0,
               "--out", out, "--json", *more, expect=expect)


def weights(place, out):
    return {path.name: path.read_bytes() for path in (place / out).rglob("model.safetensors")}


with Temporary() as place:
    here = place.path
    for more, word in ((["--isa", "avx2"], "isa"), (["--gemm", "plain"], "gemm")):
        refused = train(here, "refused", "--precision", "bf16", *more, expect=2)
        assert len(refused.err.splitlines()) == 1 and word in refused.err, refused
        assert not (here / "refused").exists()
    first = train(here, "bf16", "--precision", "bf16", "--threads", 1, expect=None)
    if first.code == 2 and "AVX512-BF16" in first.err:
        assert len(first.err.splitlines()) == 1 and not (here / "bf16").exists(), first
        skip("this processor has no AVX512-BF16: " + first.err.strip())
    assert first.code == 0, first
    assert "bf16" in first.json()["gemm"] and f"Gemm: {first.json()['gemm']}" in first.err, first
    exact = train(here, "f32", "--threads", 1)
    for key in ("loss", "val_loss"):
        distance = abs(first.json()[key] - exact.json()[key])
        print(key, first.json()[key], exact.json()[key], distance)
        assert 0 < distance < BOUND, (key, distance)
    train(here, "two", "--precision", "bf16", "--threads", 2)
    assert weights(here, "two") and weights(here, "two") == weights(here, "bf16")
    other = run(here, "train", "--resume", "bf16", "--iterations", 90, "--precision", "f32", expect=2)
    assert "precision" in other.err and len(other.err.splitlines()) == 1, other
    more = run(here, "train", "--resume", "bf16", "--iterations", 90, "--json")
    assert "bf16" in more.json()["gemm"], more
