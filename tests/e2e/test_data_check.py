"""plimsoll data check: figures of rows counted by hand, as text and as JSON; what cannot be read is refused in one line."""
import gzip

from harness import Temporary, json, run
from tiny_model import CHATML, make_model


def chat(question, answer):
    return json.dumps({"messages": [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]}) + "\n"


def main():
    with Temporary() as temporary:
        folder = temporary.path
        make_model(folder / "model")
        make_model(folder / "bare", chat_template=None)
        make_model(folder / "odd", chat_template="[INST]")
        # <|im_start|>user\n Q <|im_end|>\n<|im_start|>assistant\n A <|im_end|>\n: 21 tokens and those of Q and A.
        (folder / "chat.jsonl").write_text(chat("q", '{"a": 1}') * 2 + chat("x" * 30, "y") + '{"messages": [{"role": "user", "content": "q"}]}\n')
        found = run(folder, "data", "check", "chat.jsonl", "--model", "model", "--context", "40", "--json").json()
        expected = {"schema": "messages", "template": "chatml", "context": 40, "rows": 4, "samples": 2, "tokens": 30 + 30 + 52 + 9, "targets": 18,
                    "structural": 0, "longest": 52, "longest_line": 3, "windows": 2, "cut_rows": 1, "cut_tokens": 11, "empty_rows": 0,
                    "masked_rows": 2, "shortened_rows": 0, "duplicate_rows": 1, "ends_texts": True, "bad_rows": 0, "first_bad": None}
        assert found == expected, {key: (found[key], expected[key]) for key in found if found[key] != expected[key]}
        told = run(folder, "data", "check", "chat.jsonl", "--model", "model", "--context", "64").out
        assert "masked       1 row with" in told and "duplicates   1 row with" in told and "cut off" not in told, told
        selective = run(folder, "data", "check", "chat.jsonl", "--model", "model", "--selective-loss", "aggressive", "--json").json()
        assert selective["structural"] == 2 * 7, selective  # all of {"a": 1} but the 1
        assert run(folder, "data", "check", "chat.jsonl", "--model", "bare", "--json").json()["template"] == "plain"
        # Where else a template and the token that ends a text may be named.
        for file, kept in (("chat_template.json", {"chat_template": CHATML}), ("tokenizer_config.json", {"chat_template": {"default": CHATML}})):
            make_model(folder / f"elsewhere-{file}", chat_template=None)
            (folder / f"elsewhere-{file}" / file).write_text(json.dumps(kept))
            assert run(folder, "data", "check", "chat.jsonl", "--model", f"elsewhere-{file}", "--json").json()["template"] == "chatml", file
        for wrong in (3, [{"name": "tools", "template": CHATML}]):
            (folder / "elsewhere-tokenizer_config.json" / "tokenizer_config.json").write_text(json.dumps({"chat_template": wrong}))
            done = run(folder, "data", "check", "chat.jsonl", "--model", "elsewhere-tokenizer_config.json", expect=2)
            assert "chat_template" in done.err and len(done.err.strip().splitlines()) == 1, done
        endless = folder / "elsewhere-chat_template.json"
        (endless / "tokenizer_config.json").write_text("{}")
        (folder / "two.jsonl").write_text('{"text": "the text"}\n' * 2)
        assert "no token that ends a text" in run(folder, "data", "check", "two.jsonl", "--model", endless).out
        assert not run(folder, "data", "check", "two.jsonl", "--model", endless, "--json").json()["ends_texts"]
        told = run(folder, "train", "--model", endless, "--data", "two.jsonl", "--context", 8, "--iterations", 1, "--out", "endless")
        assert "no token that ends a text" in told.out + told.err, told
        for file, end in (("generation_config.json", {"eos_token_id": [258, 260]}), ("special_tokens_map.json", {"eos_token": {"content": "<|end|>"}})):
            (endless / file).write_text(json.dumps(end))
            ids = run(folder, "tokenize", "--labels", "--model", endless, "two.jsonl", "--json").json()["rows"][0]
            assert ids[-1] == 258, (file, ids)
            (endless / file).unlink()
        # Files of another kind are named, not called malformed.
        for name, content, kind in (("a.jsonl.gz", gzip.compress(b'{"text": "a"}\n'), "a gzip file"), ("b.parquet", b"PAR1\x15\x04", "a Parquet file"),
                                    ("c.jsonl", '{"text": "a"}\n'.encode("utf-16"), "UTF-16"), ("d.txt", "a text\n".encode("utf-16-be"), None)):
            content = content if kind else b"\xfe\xff" + content
            (folder / name).write_bytes(content)
            for command in (["data", "check", name, "--model", "model"], ["train", "--tiny", "1", "--data", name, "--out", "no"],
                            ["train", "--model", "model", "--data", name, "--iterations", "1", "--out", "no"]):
                done = run(folder, *command, expect=2)
                assert (kind or "UTF-16") in done.err and len(done.err.strip().splitlines()) == 1, done
        (folder / "texts.jsonl").write_text('{"text": "the text"}\n')
        few = run(folder, "data", "check", "texts.jsonl", "--model", "model", expect=2)
        assert "at least 2" in few.out, few  # as train refuses it
        (folder / "texts.jsonl").write_text('{"text": "the text"}\n' * 2)
        run(folder, "data", "check", "texts.jsonl", "--model", "odd")  # texts need no template
        for model, words in (("odd", "--chat-template"), ("nowhere", "there is no")):
            done = run(folder, "data", "check", "chat.jsonl", "--model", model, expect=2)
            assert words in done.err and len(done.err.strip().splitlines()) == 1, done
        run(folder, "data", "check", "chat.jsonl", "--model", "odd", "--chat-template", "chatml")
        (folder / "bad.jsonl").write_text(chat("q", "a") + '{"text": "t"}\n')
        (folder / "chat.json").write_text((folder / "chat.jsonl").read_text())
        (folder / "array.json").write_text(json.dumps([{"text": "a"}, {"text": "b"}], indent=1))
        for name, words in (("chat.json", "name it *.jsonl"), ("array.json", "one object a line")):
            for command in (("data", "check", name), ("train", "--data", name, "--out", "never"), ("eval", "--data", name)):
                done = run(folder, *command, "--model", "model", "--context", 16, expect=2)
                assert words in done.err and len(done.err.strip().splitlines()) == 1, done
        for name in ("chat.ndjson", "chat.JSONL"):
            (folder / name).write_text((folder / "chat.jsonl").read_text())
            assert run(folder, "eval", "--model", "model", "--context", 40, "--data", name, "--all", "--json").json()["targets"] == 18
        bad = run(folder, "data", "check", "bad.jsonl", "--model", "model", "--json", expect=2).json()
        (folder / "braces.jsonl").write_text(chat("q", "a") * 2 + '{"text": "t", "image": "{x}.png"}\n')
        assert "malformed    1 row; the first is line 3" in run(folder, "data", "check", "braces.jsonl", "--model", "model", expect=2).out
        assert bad["bad_rows"] == 1 and bad["first_bad"].startswith("line 2: "), bad


if __name__ == "__main__":
    main()
