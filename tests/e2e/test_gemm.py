"""Every backend for matrix products trains the same model and is named at the start; a missing backend is refused with a hint."""

from harness import *

with Temporary() as place:
    losses = {}
    text = place.path / "text.txt"
    text.write_text("".join(f"{n} and {n * 7 % 100} are numbers.\n" for n in range(300)))
    for name in ("plain", "auto", "native", "onednn", "cblas"):
        ended = run(place.path, "train", "--small", 20, "--gemm", name, "--out", name, "--json", "--eval-every", 0, "--sample-every", 0,
                    "--data", text, expect=None)
        if ended.code == 2 and name in ("onednn", "cblas"):
            assert len(ended.err.splitlines()) == 1 and name in ended.err, ended
            assert not (place.path / name).exists()
            print(f"{name} is not here: {ended.err.strip()}")
            continue
        assert ended.code == 0, ended
        result = ended.json()
        assert f"Gemm: {result['gemm']}" in ended.err, ended
        if name != "auto":
            assert name in result["gemm"].lower() or name == "cblas", result["gemm"]
        losses[name] = result["loss"], result["val_loss"]
    print(losses)
    for name, pair in losses.items():
        for one, other in zip(pair, losses["plain"]):
            assert abs(one - other) < 2e-3, f"{name}: {pair}, plain: {losses['plain']}"
