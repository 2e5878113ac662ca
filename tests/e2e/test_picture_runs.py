"""Runs on pictures, with nothing but the program: bits depend neither on loaders nor on caches, killed runs end with the same bytes, a damaged
cache is mended, bad pictures are one line each, and memory does not move. The long form has 50 kills and 1,700 pictures."""
import base64
import random
import sqlite3
import struct
import zlib

from harness import LONG, PROGRAM, SANITIZED, SOURCE, Temporary, checkpoints, environment, json, run, same_checkpoint, shutil, subprocess
from killing import kill_and_resume
from vision_folder import make_rows, make_tiny, png

FORMATS = sorted(path for name in ("jpeg", "png", "webp") for path in (SOURCE / "tests" / "fuzz" / "corpus" / name).iterdir())
STEPS = 60
KILLS = 50 if LONG else 5
ADAPTERS = ("--lora-rank", 4)


def options(out, steps=STEPS, data="rows.jsonl", images="pictures"):
    return ["train", "--model", "model", "--data", data, "--images", images, "--context", 96, "--image-buffer", "8MB", "--batch", 1, "--accumulate", 2,
            "--iterations", steps, "--lr", 0.003, "--sample-every", 0, "--threads", 2, "--out", out]


def train(folder, out, *more, expect=0, **which):
    return run(folder, *options(out, **which), "--eval-every", 20, "--checkpoint-every", 20, "--json", *more, expect=expect)


def check_bits(folder):
    """One run as it comes, and the same with other loaders and caches."""
    wanted = train(folder, "whole", *ADAPTERS).json()["pictures"]
    tiles = run(folder, "data", "check", "rows.jsonl", "--model", "model", "--images", "pictures", "--context", 96, "--json").json()["tiles"]
    assert wanted["tiles_looked_at"] > 2 * tiles and 0 <= wanted["waiting_share"] <= 1, (wanted, tiles)
    file = ("--image-cache-in", "file")
    for name, more in (("no-loader", ("--loaders", 0)), ("loaders", ("--loaders", 3)), ("small", ("--image-cache", "60KB", "--loaders", 2)),
                       ("large", ("--image-cache", "1MB")), ("small-file", ("--image-cache", "60KB", *file)),
                       ("large-file", ("--image-cache", "1MB", "--loaders", 3, *file))):
        found = train(folder, name, *ADAPTERS, *more).json()["pictures"]
        same_checkpoint(folder / "whole", folder / name, STEPS)
        assert found["tiles_damaged"] == 0 and (found["tiles_read"] > 0) == ("file" in name), (name, found)
        if "large" in name:  # every tile that was needed, once
            assert found["tiles_looked_at"] <= tiles < found["tiles_kept"], (name, found)
    with sqlite3.connect(folder / "loaders" / "run.db") as record:
        waited = [row[0] for row in record.execute("SELECT waited FROM steps")]
        roles = dict(record.execute("SELECT role, bytes FROM plan_roles"))
    assert waited and all(seconds is not None and seconds >= 0 for seconds in waited), waited
    assert roles["image buffer"] >= 24_000_000 and roles["image cache"] > 0, roles
    # A tower that is trained looks at every picture again.
    for name, more in (("tower", ()), ("tower-loaders", ("--loaders", 3)), ("tower-no-loader", ("--loaders", 0))):
        looked = train(folder, name, *more).json()["pictures"]["tiles_looked_at"]
        assert looked >= 2 * STEPS, looked
        same_checkpoint(folder / "tower", folder / name, STEPS)


def check_settings(folder):
    """The settings of pictures in the file of transformers 5; rows that differ in the picture alone; other folders of pictures."""
    ask = ("--model", "new", "--images", "pictures", "--context", 96)
    shutil.copytree(folder / "model", folder / "new")
    kept = run(folder, "eval", "--model", "model", "--data", "rows.jsonl", *ask[2:], "--all", "--json").json()
    labels = run(folder, "tokenize", "rows.jsonl", "--labels", *ask[:4], "--json").json()
    settings = json.loads((folder / "new" / "preprocessor_config.json").read_text())
    (folder / "new" / "preprocessor_config.json").unlink()
    for command in (("eval", "--data", "rows.jsonl"), ("data", "check", "rows.jsonl")):
        done = run(folder, *command, *ask, expect=2)
        assert "preprocessor_config.json" in done.err and " processor_config.json" in done.err and len(done.err.strip().splitlines()) == 1, done
    (folder / "new" / "processor_config.json").write_text(json.dumps({"image_processor": settings, "image_seq_len": 4}))
    assert run(folder, "eval", "--data", "rows.jsonl", *ask, "--all", "--json").json() == kept
    checked = run(folder, "data", "check", "rows.jsonl", *ask, "--json").json()
    assert checked["pictures"] == 24 and sum(map(len, labels["rows"])) == checked["tokens"], checked
    lines = [json.dumps({"text": "what?", "image": name, "response": "it"}) for name in ("00001.png", "00002.png", "00001.png")]
    (folder / "same.jsonl").write_text("".join(line + "\n" for line in lines))
    assert run(folder, "data", "check", "same.jsonl", *ask, "--json").json()["duplicate_rows"] == 1

    # Labels are those of rows that can be trained on.
    for row, words in (({"text": "an <image>?", "response": "it"}, "no picture"), ({"text": "?", "image": "00001.png", "response": "<image>"}, "assistant"),
                       ({"text": "a text", "image": "00001.png"}, "no `response`")):
        (folder / "refused.jsonl").write_text(json.dumps(row) + "\n")
        done = run(folder, "tokenize", "refused.jsonl", "--labels", *ask[:4], expect=2)
        assert "line 1" in done.err and words in done.err and len(done.err.strip().splitlines()) == 1, done

    # A picture in the row itself is the same as by its name; an address is not fetched.
    def rows_with(images):
        (folder / "inside.jsonl").write_text("".join(json.dumps({"text": "what?", "image": image, "response": "it"}) + "\n" for image in images))
        return "inside.jsonl"
    names = ("00001.png", "00002.png")
    bare = [base64.b64encode((folder / "pictures" / name).read_bytes()).decode() for name in names]
    losses = [run(folder, "eval", "--data", rows_with(images), *ask, "--all", "--json").json()["val_loss"]
              for images in (names, bare, [f"data:image/png;base64,{image}" for image in bare])]
    assert losses[0] == losses[1] == losses[2], losses
    hashed = [digit * 64 for digit in "ab"]  # a name that could be base64
    for name, other in zip(names, hashed):
        shutil.copy(folder / "pictures" / name, folder / "pictures" / other)
    assert run(folder, "eval", "--data", rows_with(hashed), *ask, "--all", "--json").json()["val_loss"] == losses[0]
    for other in hashed:
        (folder / "pictures" / other).unlink()
    for image, why in (("https://host/cat.png", "an address"), ("data:image/png,00", "not base64"), ("data:image/png;base64,@@@@", "damaged base64"),
                       ("data:image/png;base64," + bare[0][:24], "the picture in the row")):
        done = run(folder, "data", "check", rows_with([image, names[0]]), *ask, expect=2)
        assert why in done.out and "line 1" in done.out, done
        done = run(folder, "eval", "--data", "inside.jsonl", *ask, expect=2)
        assert why in done.err and "line 1" in done.err and len(done.err.strip().splitlines()) == 1, done


def check_line(folder):
    """Below the least line too, with pictures of every format."""
    if SANITIZED:
        return
    for name, more in (("adapters", ADAPTERS), ("text", ("--train", "text"))):
        refused = train(folder, "never", *more, "--memory", "1MB", expect=2)
        least = int(refused.err.split("needs: ")[1].split()[0])
        peak = train(folder, f"line-{name}", *more, "--memory", least).json()["peak_rss_bytes"]
        assert peak <= least, (name, peak, least)
        print(f"{name}: line {least / 1e6:.2f} MB, peak {peak / 1e6:.2f} MB")


def check_file(folder):
    """The file of a run serves its resumption; what is damaged in it is looked at again, which is said, and so is a shape that changed."""
    kept = ("--image-cache", "1MB", "--image-cache-in", "file")
    train(folder, "filed", *ADAPTERS, *kept)
    cache = folder / "filed" / "features.cache"

    def again(*more):
        for step in checkpoints(folder / "filed")[1:]:
            shutil.rmtree(folder / "filed" / f"step-{step:06}")
        done = run(folder, "train", "--resume", "filed", "--json", *more)
        same_checkpoint(folder / "whole", folder / "filed", STEPS)
        return done, done.json()["pictures"]

    done, found = again()
    assert found["tiles_looked_at"] == 0 and found["tiles_read"] > 0, found
    data = bytearray(cache.read_bytes())
    draw = random.Random(3)
    for _ in range(40):
        data[draw.randrange(48, len(data))] ^= 1 << draw.randrange(8)
    cache.write_bytes(data)
    done, found = again()
    assert found["tiles_damaged"] > 0 and found["tiles_looked_at"] >= found["tiles_damaged"] and "damaged" in done.err, (found, done.err)
    assert again()[1]["tiles_looked_at"] == 0
    data = cache.read_bytes()
    cache.write_bytes(data[:len(data) // 2])
    assert again()[1]["tiles_damaged"] <= 1
    for garbage in (b"", bytes(200), draw.randbytes(5000), data[:40] + draw.randbytes(20_000)):
        cache.write_bytes(garbage)
        again()
    cache.unlink()
    cache.symlink_to("/dev/null")
    done = run(folder, "train", "--resume", "filed", "--iterations", STEPS + 1, expect=2)
    assert "features.cache" in done.err and len(done.err.strip().splitlines()) == 1, done
    refused = run(folder, *options("never"), "--image-cache-in", "file", expect=2)
    assert "--image-cache" in refused.err and not (folder / "never").exists(), refused


def check_kills(folder):
    fresh = [*options("killed"), *ADAPTERS, "--eval-every", 20, "--checkpoint-every", 5, "--loaders", 3, "--image-cache", "1MB", "--image-cache-in", "file"]
    before = kill_and_resume(folder, fresh, "killed", KILLS, 0.4)
    same_checkpoint(folder / "whole", folder / "killed", STEPS)
    print(f"{KILLS} kills, {before} of them before the first checkpoint: the same bytes")


def bomb(width, height):
    def chunk(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b""))


def check_bad(folder):
    """Refused by row before step 1, or at the step that needs it: one line, and no more memory than a good run."""
    bad = folder / "bad"
    bad.mkdir()
    good = png(30, 30, bytes(2700))
    jpeg, webp = ((SOURCE / "tests" / "fuzz" / "corpus" / name).read_bytes() for name in ("jpeg/jpeg.jpg", "webp/webp.webp"))
    (bad / "good.png").write_bytes(good)
    cases = {"empty.png": (b"", "it is empty"), "text.jpg": (b"no picture", "not a picture"), "bomb.png": (bomb(60000, 60000), "60000 x 60000"),
             "head.jpg": (jpeg[:30], "damaged JPEG"), "head.webp": (webp[:14], "damaged WebP"), "head.png": (good[:20], "header is missing"),
             "wide.png": (png(3000, 2000, bytes(18_000_000)), "--image-buffer"), "missing.png": (None, "missing.png")}
    for name, (data, words) in cases.items():
        if data is not None:
            (bad / name).write_bytes(data)
        rows = [{"text": "what?", "image": image, "response": "it"} for image in ["good.png"] * 9 + [name] + ["good.png"] * 9]
        (folder / "bad.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        done = train(folder, "refused", *ADAPTERS, data="bad.jsonl", images="bad", expect=2)
        assert words in done.err and "line 10" in done.err and len(done.err.strip().splitlines()) == 1, (name, done)
        assert not (folder / "refused").exists(), name
        assert SANITIZED or done.peak < 60_000_000, (name, done.peak)
    skipped = train(folder, "skipping", *ADAPTERS, "--skip-bad", data="bad.jsonl", images="bad", steps=5)
    assert "malformed rows skipped: 1" in skipped.err, skipped
    whole = train(folder, "good", *ADAPTERS, steps=5)
    # What it is counts, not what it is called.
    (bad / "really-a.jpg").write_bytes(good)
    # Damaged beyond its header, or changed since the data was opened.
    late = {"half.png": good[:len(good) - 40], "half.jpg": jpeg[:len(jpeg) - 40], "half.webp": webp[:len(webp) - 40]}
    for name, data in late.items():
        (bad / name).write_bytes(data)
        rows = [{"text": "what?", "image": image, "response": "it"} for image in ["really-a.jpg", name] * 10]
        (folder / "bad.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        for loaders in (0, 3):
            shutil.rmtree(folder / "late", ignore_errors=True)
            done = train(folder, "late", *ADAPTERS, "--loaders", loaders, data="bad.jsonl", images="bad", expect=1)
            said = [line for line in done.err.splitlines() if name in line]
            assert len(said) == 1 and "damaged" in said[0] and not done.out, (name, done)
            assert SANITIZED or done.peak < whole.peak + 30_000_000, (name, done.peak, whole.peak)


def check_flat(folder):
    """Five epochs with a validation after each, under watch."""
    count = 1700 if LONG else 60
    (folder / "many").mkdir()
    make_rows(folder / "many", count, seed=8, formats=FORMATS)
    train_rows = count * 9 // 10
    arguments = [PROGRAM, "train", "--model", "model", "--data", "many/rows.jsonl", "--images", "many/pictures", "--context", 96, "--batch", 1, "--iterations",
                 5 * train_rows, "--eval-every", train_rows, "--sample-every", 0, "--checkpoint-every", train_rows, "--loaders", 3, "--image-buffer", "24MB",
                 "--image-cache", "200KB", "--threads", 2, *ADAPTERS, "--out", "flat", "--json"]
    watched = subprocess.run([PROGRAM, "watch", "--json", "--interval", "20ms", "--out", "flat.db", "--", *map(str, arguments)], cwd=folder, capture_output=True, text=True,
                             env=environment())
    assert watched.returncode == 0, watched
    told = [json.loads(line) for line in watched.stdout.splitlines() if line.startswith("{")]
    trained, judged = told[0], told[-1]
    assert trained["allocations_after_warmup"] in (0, None), trained
    assert judged["verdict"] != "leak" and trained["verdict"]["verdict"] != "leak", (judged["verdict"], trained["verdict"])
    if LONG:
        assert judged["verdict"] == "no-leak" and trained["verdict"]["verdict"] == "no-leak", (judged["verdict"], trained["verdict"])
    # The report says what the memory is: planned roles, pictures' among them, and the process beside the plan.
    told = run(folder, "report", "flat", "--json").json()
    parts, last = told["plan"]["measured"], told["memory"]["rows"][-1][told["memory"]["columns"].index("rss")]
    if SANITIZED:
        return
    assert parts["image buffer"] >= 3 * 24_000_000 and parts["image cache"] >= 150_000 and sum(parts.values()) == last, (parts, last)
    moved = trained["rss_end_bytes"] - trained["rss_after_warmup_bytes"]
    assert abs(moved) <= 1_000_000, trained
    print(f"{5 * train_rows} steps over {count} pictures: plan {trained['plan_bytes'] / 1e6:.1f} MB, at the end {trained['rss_end_bytes'] / 1e6:.1f} MB, moved "
          f"{moved / 1e3:.0f} kB, {trained['allocations_after_warmup']} allocations, verdict {judged['verdict']}, waited {trained['pictures']['waiting_share']:.1%}")


def main():
    with Temporary() as temporary:
        folder = temporary.path
        make_tiny(folder / "model")
        make_rows(folder, 24, formats=FORMATS)
        check_settings(folder)
        check_bits(folder)
        check_line(folder)
        check_file(folder)
        check_kills(folder)
        check_bad(folder)
        check_flat(folder)


if __name__ == "__main__":
    main()
