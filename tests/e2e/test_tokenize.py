"""plimsoll tokenize on a tokenizer small enough to check by hand; hostile files are refused in one line and little memory."""
from byte_tokenizer import tokenizer
from harness import PROGRAM, SANITIZED, Temporary, environment, json, run, subprocess

MOST_MEMORY = 64_000_000


def check_commands(folder):
    (folder / "model").mkdir()
    (folder / "model" / "tokenizer.json").write_text(json.dumps(tokenizer()))
    text, ids = "the é<|end|>\r\n", [257, 32, 0xC3, 0xA9, 258, 13, 10]
    (folder / "text.txt").write_bytes(text.encode())
    got = run(folder, "tokenize", "--model", "model", "text.txt", "--json")
    assert got.json() == {"ids": ids}, got
    assert run(folder, "tokenize", "--model", "model/tokenizer.json", "text.txt").out.split() == [str(i) for i in ids]
    for form in (got.out, json.dumps(ids), " ".join(map(str, ids)) + "\n"):
        (folder / "ids").write_text(form)
        done = subprocess.run([PROGRAM, "tokenize", "--model", "model", "--decode", "ids"], cwd=folder, env=environment(),
                              capture_output=True, check=True)
        assert done.stdout == text.encode(), done
    piped = subprocess.run([PROGRAM, "tokenize", "--model", "model", "--json"], cwd=folder, env=environment(), input=text.encode(),
                           capture_output=True, check=True)
    assert json.loads(piped.stdout) == {"ids": ids}, piped
    counted = run(folder, "tokenize", "--model", "model", "text.txt", "--count", "--json").json()
    assert (counted["tokens"], counted["bytes"], counted["texts"]) == (7, 15, 1), counted
    (folder / "rows.jsonl").write_text('{"text": "the"}\n\n{"text": "", "x": [1]}\n')
    assert run(folder, "tokenize", "--model", "model", "rows.jsonl", "--json").json() == {"rows": [[257], []]}


def refused(folder, words, *arguments):
    done = run(folder, "tokenize", *arguments, expect=2)
    assert words in done.err and len(done.err.strip().splitlines()) == 1 and not done.out, done
    assert SANITIZED or done.peak < MOST_MEMORY, f"{arguments}: {done.peak} bytes"


def check_refusals(folder):
    (folder / "bad.txt").write_bytes(b"abc\xff")
    refused(folder, "byte 4", "--model", "model", "bad.txt")
    refused(folder, "--model", "text.txt")
    refused(folder, "there is no", "--model", "nowhere", "text.txt")
    (folder / "ids").write_text("1 2 259")
    refused(folder, "259", "--model", "model", "ids", "--decode")
    (folder / "ids").write_text("1 2 x")
    refused(folder, '"x"', "--model", "model", "ids", "--decode")
    (folder / "rows.jsonl").write_text('{"text": "the"}\n{"text": 1}\n')
    refused(folder, "line 2", "--model", "model", "rows.jsonl")
    (folder / "rows.jsonl").write_text('{"prompt": "a", "completion": "b"}\n')
    refused(folder, "--labels", "--model", "model", "rows.jsonl")
    # What training refuses has no labels.
    (folder / "rows.jsonl").write_text('{"text": "the"}\n\n{"prompt": "a", "completion": "b"}\n')
    refused(folder, "line 3: it has prompt and completion, while the first row has text", "--model", "model", "rows.jsonl", "--labels")
    (folder / "rows.jsonl").write_text('{"text": "the"}\n{"text": "a", "image": "a.png", "response": "b"}\n')
    refused(folder, "line 2", "--model", "model", "rows.jsonl", "--labels")


def check_hostile(folder):
    def hostile(words, change):
        made = tokenizer()
        made = change(made) or made
        (folder / "hostile.json").write_text(made if isinstance(made, str) else json.dumps(made))
        refused(folder, words, "--model", "hostile.json", "text.txt")

    hostile("1152921504606846976", lambda t: t["model"]["vocab"].update(a=2**60))
    hostile("4194303", lambda t: t["model"]["vocab"].update(a=4194303))
    hostile("1152921504606846976", lambda t: t["added_tokens"][0].update(id=2**60))
    hostile("merge 3", lambda t: t["model"]["merges"].append("the "))
    hostile("merge 3", lambda t: t["model"]["merges"].append(["the", ""]))
    hostile("merge 1000003", lambda t: t["model"]["merges"].extend(["t h"] * 1_000_000 + [7]))
    hostile("nests deeper", lambda t: "[" * 5_000_000)
    hostile("nests deeper", lambda t: '{"model":' * 1_000_000)
    hostile("not a JSON object", lambda t: '"' + "a" * 2_000_000)


def main():
    with Temporary() as folder:
        check_commands(folder.path)
        check_refusals(folder.path)
        check_hostile(folder.path)


if __name__ == "__main__":
    main()
