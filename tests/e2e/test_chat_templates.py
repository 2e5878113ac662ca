"""If `transformers` is installed: conversations become the tokens that its apply_chat_template gives, and what the assistant says is learned."""
from harness import SOURCE, Temporary, environment, json, os, run, subprocess
from test_tokenizers import python_with

SCRIPT = SOURCE / "tests" / "oracle" / "chat_oracle.py"


def said(name, chat):
    """What the model learns to say, as text."""
    end = "<|eot_id|>" if name.startswith("llama") else "<|im_end|>"
    strip = str.strip if name.startswith("llama") else str
    return "".join(strip(message["content"]) + end for message in chat if message["role"] == "assistant")


def check_others(folder):
    """Templates of other people's collections are refused by name, or rendered as transformers does."""
    same, refused = [], 0
    for file in sorted((folder / "others").glob("*.ids")):
        expected = json.loads(file.read_text())
        if all(theirs is None for theirs, _ in expected):
            continue  # it needs more than a conversation
        ended = run(folder, "tokenize", "--model", folder / "others" / file.stem, "chats.jsonl", "--labels", "--json", expect=None)
        if ended.code == 2:
            assert "chat template" in ended.err and len(ended.err.strip().splitlines()) == 1, ended
            refused += 1
            continue
        for ids, (theirs, _) in zip(ended.json()["rows"], expected):
            assert theirs is None or ids == theirs, f"{file.stem}\nours:   {ids}\ntheirs: {theirs}"
        same.append(file.stem)
    print(f"of other collections {refused} templates are refused and {len(same)} are the same: {' '.join(same)}")


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
                assert name == "qwen3" or learned.endswith(said(name, chat)) and len(learned) <= len(said(name, chat)) + 2, (name, learned)
            print(f"{name}: {len(chats)} conversations are the same")
        check_others(folder)


if __name__ == "__main__":
    main()
