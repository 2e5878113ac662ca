"""If `transformers` is installed: conversations become the tokens that its apply_chat_template gives, and what the assistant says is learned."""
from harness import SOURCE, Temporary, environment, json, os, run, subprocess
from test_tokenizers import python_with

SCRIPT = SOURCE / "tests" / "oracle" / "chat_oracle.py"


def said(name, chat):
    """What the model learns to say, as text."""
    end = "<|eot_id|>" if name.startswith("llama") else "<|endoftext|>" if name in ("zephyr", "folded") else "<|im_end|>"
    strip = str.strip if name.startswith("llama") or name == "folded" else str
    space = " " if name == "folded" else ""  # not part of its prompt
    return "".join(space + strip(message["content"]) + end for message in chat if message["role"] == "assistant").removeprefix(space)


def check_others(folder):
    """Templates of other people's collections are refused by name, or rendered as transformers does."""
    same, refused = [], []
    chats = (folder / "chats.jsonl").read_text().splitlines()
    for file in sorted((folder / "others").glob("*.ids")):
        expected = json.loads(file.read_text())
        if all(theirs is None for theirs, _ in expected):
            continue  # it needs more than a conversation
        # What the template itself refuses is refused by row.
        (folder / "accepted.jsonl").write_text("".join(chat + "\n" for chat, (theirs, _) in zip(chats, expected) if theirs is not None))
        ended = run(folder, "tokenize", "--model", folder / "others" / file.stem, "accepted.jsonl", "--labels", "--json", expect=None)
        if ended.code == 2:
            assert "template" in ended.err and len(ended.err.strip().splitlines()) == 1, ended
            refused.append(f"{file.stem}: {ended.err.strip()}")
            continue
        if "strftime_now" in (folder / "others" / file.stem / "tokenizer_config.json").read_text():
            continue  # transformers writes today's date
        for ids, theirs in zip(ended.json()["rows"], (theirs for theirs, _ in expected if theirs is not None)):
            assert ids == theirs, f"{file.stem}\nours:   {ids}\ntheirs: {theirs}"
        same.append(file.stem)
    print("".join(f"{line}\n" for line in refused), end="")
    print(f"of other collections {len(refused)} templates are refused and {len(same)} are the same: {' '.join(same)}")


def main():
    python = python_with("transformers")
    with Temporary() as temporary:
        folder = temporary.path
        subprocess.run([python, str(SCRIPT), str(folder)], check=True,
                       env=environment({name: value for name, value in os.environ.items() if name == "PLIMSOLL_CHAT_TEMPLATES"}))
        chats = [json.loads(line)["messages"] for line in open(folder / "chats.jsonl")]
        for file in sorted(folder.glob("*.ids")):
            name, expected = file.stem, json.loads(file.read_text())
            got = run(folder, "tokenize", "--model", name, "chats.jsonl", "--labels", "--json").json()
            assert len(got["rows"]) == len(chats)
            for chat, ids, labels, (theirs, _) in zip(chats, got["rows"], got["labels"], expected):
                assert ids == theirs, f"{name}: {chat}\nours:   {ids}\ntheirs: {theirs}"
                assert all(label in (-1, token) for label, token in zip(labels, ids)), labels
                (folder / "learned").write_text(json.dumps([label for label in labels if label >= 0]))
                learned = run(folder, "tokenize", "--model", name, "learned", "--decode", "--json").json()["text"]
                # A token may begin in the header and end in what is said.
                assert name in ("qwen3", "thoughtless") or learned.endswith(said(name, chat)) and len(learned) <= len(said(name, chat)) + 2, (name, learned)
            print(f"{name}: {len(chats)} conversations are the same")
        counted = run(folder, "data", "check", "chats.jsonl", "--model", "qwen3", "--json").json()
        assert counted["shortened_rows"] == 2, counted  # thoughts of earlier answers, and what stands around a thought's end
        check_others(folder)


if __name__ == "__main__":
    main()
