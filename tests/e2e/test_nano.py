"""`train --nano` on Shakespeare: reaches the known validation loss for this model and budget over the whole validation split."""

from harness import *

text = Path(os.environ.get("PLIMSOLL_SHAKESPEARE") or SOURCE.parent / "shared" / "data" / "tinyshakespeare.txt")
if not text.is_file():
    skip(f"no {text}; name the text in PLIMSOLL_SHAKESPEARE")

iterations, most = (2000, 1.88) if LONG else (150, 2.75)
with Temporary() as place:
    # The long form is the command as people type it; the short one skips what takes time on the way.
    extra = [] if LONG else ["--iterations", iterations, "--eval-every", 0, "--warmup", 20]
    ended = run(place.path, "train", "--nano", "--data", text, "--json", *extra, timeout=3000)
    result = ended.json()
    print(json.dumps(result))
    assert result["iterations"] == iterations and result["entropy_floor"] is None
    characters = len(text.read_text())
    assert result["val_tokens"] == characters - characters * 9 // 10 - 1, result["val_tokens"]
    assert result["val_loss"] <= most, result["val_loss"]
    assert SANITIZED or result["rss_end_bytes"] - result["rss_after_warmup_bytes"] <= 1_000_000
