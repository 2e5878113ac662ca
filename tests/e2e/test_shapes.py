#!/usr/bin/env python3
"""A vision-language model from nothing learns to see: the drawn set of shapes, answers about combinations it was never shown, and the
same model with its images blanked. Also plan, resume, sample, export and refusals of --vision. Standard library only.

The long form trains until 95 % of the answers are exact.
"""
import filecmp

from harness import LONG, Temporary, json, run

ROWS, ITERATIONS = (8192, 3000) if LONG else (768, 120)


def evaluate(folder, what, *options):
    return run(folder, "eval", what, "--data", "set/held-out.jsonl", "--all", "--json", *options).json()


def check_learning(folder):
    made = run(folder, "data", "shapes", "set", "--rows", ROWS, "--json").json()
    assert made["chance"] == .25 and made["rows"] == ROWS, made
    planned = run(folder, "plan", "--vision", "tiny", "--data", "set/train.jsonl", "--json").json()
    trained = run(folder, "train", "--vision", "tiny", "--data", "set/train.jsonl", "--iterations", ITERATIONS, "--out", "run", "--json").json()
    assert trained["plan_bytes"] == planned["plan_bytes"], (trained, planned)
    assert trained["allocations_after_warmup"] in (0, None), trained
    seen, blank = evaluate(folder, "run", "--answers"), evaluate(folder, "run", "--answers", "--blank-images")
    print(f"{ITERATIONS} iterations, {trained['seconds']:.0f} s: {seen['answers']}, blanked {blank['answers']}, loss {seen['loss']:.4f} and {blank['loss']:.4f}")
    assert seen["answers"]["rows"] == made["held_out"], seen
    # Without looking there is one answer for a question, and each is right once in four times.
    assert blank["answers"]["accuracy"] <= made["chance"] + 1e-9, blank
    assert seen["loss"] != blank["loss"], (seen, blank)
    if LONG:
        assert seen["answers"]["accuracy"] >= .95, seen
    return seen


def check_answer(folder):
    row = json.loads((folder / "set/held-out.jsonl").read_text().splitlines()[0])
    said = run(folder, "sample", "run", "--image", f"set/{row['image']}", "--chat", row["text"], "--temperature", 0, "--length", 20, "--json").json()
    (folder / "set/one.jsonl").write_text(json.dumps(row) + "\n")
    exact = run(folder, "eval", "run", "--data", "set/one.jsonl", "--all", "--answers", "--json").json()["answers"]
    assert exact == {"rows": 1, "exact": int(said["text"] == " " + row["response"]), "accuracy": float(exact["exact"])}, (exact, said, row)


def check_export(folder, seen):
    run(folder, "export", "run", "--merged", "merged")
    theirs = run(folder, "eval", "--model", "merged", "--context", 128, "--data", "set/held-out.jsonl", "--all", "--answers", "--json").json()
    assert theirs["answers"] == seen["answers"] and abs(theirs["loss"] - seen["loss"]) < 1e-5, (theirs, seen)
    refused = run(folder, "export", "run", "--peft", "adapter", expect=2)
    assert "--merged" in refused.err, refused


def check_resume(folder):
    short = ("--vision", "tiny", "--data", "set/train.jsonl", "--checkpoint-every", 4, "--eval-every", 0, "--threads", 2)
    run(folder, "train", *short, "--iterations", 12, "--out", "whole")
    run(folder, "train", *short, "--iterations", 12, "--out", "parts", "--loaders", 3)
    (folder / "parts" / "latest").unlink(missing_ok=True)
    for name in ("step-000012", "step-000008"):
        for file in (folder / "parts" / name).iterdir():
            file.unlink()
        (folder / "parts" / name).rmdir()
    run(folder, "train", "--resume", "parts", "--threads", 1, "--loaders", 0)
    for file in ("model.safetensors", "optimizer.safetensors"):
        assert filecmp.cmp(folder / "whole/step-000012" / file, folder / "parts/step-000012" / file, shallow=False), file


def check_patience(folder):
    """With a learning rate of 0 nothing improves after the first evaluation."""
    ended = run(folder, "train", "--vision", "tiny", "--data", "set/train.jsonl", "--iterations", 200, "--eval-every", 2, "--patience", 2, "--lr", 0,
                "--min-lr", 0, "--out", "patient", "--checkpoint-every", 0, "--json").json()
    assert ended["stopped_early"] and ended["end"] == "finished" and ended["iterations"] == 6, ended
    state = json.loads((folder / "patient" / "step-000006" / "state.json").read_text())
    assert state["best_step"] == 2, state
    assert (folder / "patient/step-000002").is_dir()
    again = run(folder, "train", "--resume", "patient", "--json").json()
    assert again["iterations"] == ended["iterations"] and again["stopped_early"], again


def check_refusals(folder):
    (folder / "plain.txt").write_text("text " * 100)
    for arguments, word in ((("--vision", "huge", "--data", "set/train.jsonl"), "tiny"), (("--vision", "tiny"), "--data"),
                            (("--vision", "tiny", "--data", "plain.txt"), ".jsonl"), (("--vision", "tiny", "--model", "x", "--data", "set/train.jsonl"), "--vision"),
                            (("--vision", "tiny", "--lora-rank", 4, "--data", "set/train.jsonl"), "--model"),
                            (("--tiny", "--tower-lr", 1e-4), "vision-language"), (("--tiny", "--patience", 3, "--eval-every", 0), "--eval-every")):
        refused = run(folder, "train", *arguments, "--out", "never", expect=2)
        assert word in refused.err and refused.err.count("\n") == 1 and not (folder / "never").exists(), (arguments, refused)
    refused = run(folder, "data", "shapes", "set", expect=2)
    assert "empty" in refused.err, refused
    refused = run(folder, "eval", "run", "--data", "plain.txt", "--answers", expect=2)
    assert refused.err.count("\n") == 1, refused


def main():
    with Temporary() as temporary:
        folder = temporary.path
        seen = check_learning(folder)
        check_answer(folder)
        check_export(folder, seen)
        check_resume(folder)
        check_patience(folder)
        check_refusals(folder)


if __name__ == "__main__":
    main()
