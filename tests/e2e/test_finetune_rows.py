"""Fine-tuning on rows: packing does not change the loss, killed runs end with the same bytes, selective loss begins where it is told to."""
import random

from harness import LONG, SANITIZED, SOURCE, Temporary, environment, json, os, run, same_checkpoint, subprocess
from killing import kill_and_resume
from tiny_model import make_model

STEPS = 1200
KILLS = 50 if LONG else 4


def chat(question, answer):
    return json.dumps({"messages": [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]}) + "\n"


def make_rows(path):
    draw = random.Random(5)
    rows = [chat("the " * draw.randint(0, 9), json.dumps({"name": "th" * draw.randint(0, 5), "size": None})) for _ in range(70)]
    path.write_text("".join(rows) + json.dumps({"messages": [{"role": "user", "content": "no answer"}]}) + "\n")


def train(folder, out, *more, **how):
    return run(folder, "train", "--model", "model", "--data", "rows.jsonl", "--context", 96, "--batch", 3, "--iterations", STEPS, "--lr", 0.003,
               "--lora-rank", 4, "--checkpoint-every", 20, "--log-every", 1, "--threads", 2, "--out", out, *more, **how)


def check_packing(folder):
    losses = {context: run(folder, "eval", "--model", "model", "--data", "rows.jsonl", "--all", "--context", context, "--json").json()
              for context in (96, 100, 256)}
    first = losses[96]
    assert first["targets"] > 1000 and all(abs(found["loss"] - first["loss"]) < 1e-6 and found["targets"] == first["targets"]
                                           for found in losses.values()), losses
    labelled = run(folder, "tokenize", "--model", "model", "rows.jsonl", "--labels", "--json").out
    for python in filter(None, (os.environ.get("PLIMSOLL_PYTHON"), "python3")):
        done = subprocess.run([python, str(SOURCE / "tests" / "oracle" / "row_loss.py"), str(folder / "model")], input=labelled, text=True,
                              capture_output=True, env=environment())
        if done.returncode == 0:
            theirs = json.loads(done.stdout.splitlines()[-1])
            assert abs(theirs["loss"] - first["loss"]) < 1e-4 and theirs["targets"] == first["targets"], (theirs, first)
            print(f"loss {first['loss']:.6f}, transformers {theirs['loss']:.6f}")
            return
    print("transformers and torch are not installed: the loss was not compared with theirs")


def check_kills(folder):
    """Killed while its weights are streamed and its samples are packed, in several epochs: the same bytes as a run that was left alone and kept its
    weights in memory."""
    whole = train(folder, "whole", "--stream", "off", "--json").json()
    assert whole["allocations_after_warmup"] in (0, None), whole["allocations_after_warmup"]
    fresh = ["train", "--model", "model", "--data", "rows.jsonl", "--context", 96, "--batch", 3, "--iterations", STEPS, "--lr", 0.003,
             "--lora-rank", 4, "--checkpoint-every", 20, "--threads", 2, "--out", "killed", "--stream", "on"]
    before = kill_and_resume(folder, fresh, "killed", KILLS, 0.5)
    same_checkpoint(folder / "whole", folder / "killed", STEPS)
    windows = run(folder, "data", "check", "rows.jsonl", "--model", "model", "--context", 96, "--json").json()["windows"]
    print(f"{KILLS} kills, {before} of them before the first checkpoint, {3 * STEPS / (0.9 * windows):.0f} epochs: the same bytes")


def losses(folder, *more):
    out = folder / "metrics.jsonl"
    out.unlink(missing_ok=True)
    train(folder, f"run-{len(list(folder.glob('run-*')))}", "--metrics", out, *more)
    return [row["loss"] for row in map(json.loads, open(out)) if "loss" in row]


def check_selective(folder):
    windows = run(folder, "data", "check", "rows.jsonl", "--model", "model", "--context", 96, "--json").json()["windows"]
    plain, late, early = losses(folder), losses(folder, "--selective-loss", "moderate", "--selective-from-epoch", 2), losses(folder, "--selective-loss", "moderate")
    different = next(i for i, (a, b) in enumerate(zip(plain, late)) if a != b)
    # Two epochs of about nine tenths of the windows, three in a step.
    assert plain[0] != early[0] and 2 * windows * 0.6 / 3 < different <= 2 * windows / 3, (different, windows)


def check_chat(folder):
    said = run(folder, "sample", "whole", "--chat", "the ", "--temperature", 0, "--length", 60, "--json").json()
    assert said["chat"] == "the " and "<|im_end|>" not in said["text"] and "user" not in said["text"], said
    asked = "<|im_start|>user\nthe <|im_end|>\n<|im_start|>assistant\n"
    whole = run(folder, "sample", "whole", "--prompt", asked, "--temperature", 0, "--length", 60, "--json").json()["text"]
    assert whole.startswith(asked + said["text"]), (whole, said)


def check_memory(folder):
    """Rows of 12 MB, as many tokens: they are no memory of the process."""
    draw = random.Random(4)
    with open(folder / "many.jsonl", "w") as file:
        for _ in range(24_000):
            file.write(chat("q" * draw.randint(0, 400), "a" * draw.randint(1, 400)))
    peaks = [run(folder, "train", "--model", "model", "--data", data, "--context", 256, "--iterations", 3, "--lora-rank", 4, "--threads", 1, "--out",
                 f"peak-{data}", "--json").json()["peak_rss_bytes"] for data in ("rows.jsonl", "many.jsonl")]
    size = (folder / "many.jsonl").stat().st_size
    if not SANITIZED:
        assert peaks[1] - peaks[0] < 8_000_000 < size, (peaks, size)
    print(f"{size / 1e6:.1f} MB of rows: a peak of {peaks[1] / 1e6:.1f} MB, of {peaks[0] / 1e6:.1f} MB with few")


def check_plan(folder):
    """A plan counts what training reads: the tokenizer and the rows. The least that it names is enough for a run."""
    two_steps = 1 << 20  # of the heap
    make_model(folder / "words", layers=2)
    path = folder / "words" / "tokenizer.json"
    made = json.loads(path.read_text())
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    vocabulary, merges, before = made["model"]["vocab"], made["model"]["merges"], list(letters)
    for _ in range(2):  # 18,252 words of two and three letters; no row has one, and they are beyond the rows of the model
        words = [(a, b) for a in before for b in letters if a + b not in vocabulary]
        merges += [f"{a} {b}" for a, b in words]
        first = max(260, *vocabulary.values()) + 1
        vocabulary.update({a + b: first + i for i, (a, b) in enumerate(words)})
        before = [a + b for a, b in words]
    path.write_text(json.dumps(made))
    rows = ("--data", "rows.jsonl", "--context", 96, "--lora-rank", 4, "--threads", 1)

    def least(command, model, *more):
        return int(run(folder, command, "--model", model, *more, "--memory", "1MB", expect=2).err.split("needs: ")[1].split()[0])

    if SANITIZED:
        return
    small, words, alone = least("plan", "model", *rows), least("plan", "words", *rows), least("plan", "words", *rows[2:])
    assert min(words, alone) > small + 1_000_000, (small, words, alone)
    for model, needed in (("model", small), ("words", words)):
        out = f"least-{model}"
        known = least("train", model, *rows, "--out", "never")
        assert needed - two_steps - 10_000 <= known <= needed, (known, needed)
        peak = run(folder, "train", "--model", model, *rows, "--iterations", 3, "--out", out, "--memory", needed, "--json").json()["peak_rss_bytes"]
        assert peak <= needed, (peak, needed)


def check_refusals(folder):
    def refused(words, *arguments):
        done = run(folder, *arguments, expect=2)
        assert words in done.err and len(done.err.strip().splitlines()) == 1, done

    refused("leave it out", "train", "--model", "model", "--data", "rows.jsonl", "--tokenizer", "char")
    refused("give --model", "train", "--tiny", "--tokenizer", "model")
    refused("selective_loss", "train", "--tiny", "--selective-loss", "moderate")
    refused("--data", "train", "--model", "model")
    (folder / "one.jsonl").write_text(chat("a", "b"))
    refused("at least 2", "train", "--model", "model", "--data", "one.jsonl")
    (folder / "bad.jsonl").write_text(chat("a", "b") + "{}\n")
    refused("line 2", "train", "--model", "model", "--data", "bad.jsonl")
    rows = (folder / "rows.jsonl").read_text()
    (folder / "rows.jsonl").write_text(rows + chat("one", "more"))
    refused("not what this run was trained on", "train", "--resume", "whole", "--iterations", STEPS + 9)
    (folder / "rows.jsonl").write_text(rows)
    path = folder / "model" / "tokenizer.json"
    made = json.loads(path.read_text())
    made["model"]["merges"].pop()
    path.write_text(json.dumps(made))
    refused("tokenizer", "train", "--resume", "whole", "--iterations", STEPS + 9)


def main():
    with Temporary() as temporary:
        folder = temporary.path
        make_model(folder / "model", layers=2)
        make_rows(folder / "rows.jsonl")
        check_packing(folder)
        check_kills(folder)
        told = run(folder, "train", "--resume", "whole", "--iterations", STEPS + 5)
        assert "nothing in them is learned: 1" in told.out + told.err, told
        check_chat(folder)
        check_selective(folder)
        check_memory(folder)
        check_plan(folder)
        check_refusals(folder)


if __name__ == "__main__":
    main()
