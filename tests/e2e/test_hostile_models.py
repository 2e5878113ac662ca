#!/usr/bin/env python3
"""Model folders and rows made to harm their reader: numbers that ask for all memory, a million names, keys twice, brackets without end. Each is
refused in one line, in less than 64 MB, and in little processor time."""
from harness import SANITIZED, Running, Temporary, json, run
from byte_tokenizer import tokenizer
from tiny_model import make_model

MOST_MEMORY = 64_000_000
MOST_SECONDS = 5  # of processor time, also on a slow machine; a reader that is quadratic in its input takes minutes
figures = []


def write(path, *pieces):
    """Piece after piece: the kernel counts what this process has when it starts another one as a peak of that one."""
    with open(path, "w") as file:
        for piece in pieces:
            file.writelines([piece] if isinstance(piece, str) else piece)


def refused(folder, *words, command=("plan", "--context", 16)):
    ended = run(folder, *command, "--model", "model", expect=2)
    lines = ended.err.strip().splitlines()
    assert len(lines) == 1 and all(word in lines[0] for word in words) and len(lines[0]) < 400, (words, ended)
    if not SANITIZED:
        assert ended.peak < MOST_MEMORY, (words, ended.peak)
    assert ended.seconds < MOST_SECONDS, (words, ended.seconds)
    figures.append((ended.peak, ended.seconds))


def configs(folder, path):
    good = json.loads(path.read_text())
    text = path.read_text()
    for key, value in (("vocab_size", 2**60), ("vocab_size", 0), ("num_hidden_layers", 2**40), ("hidden_size", 2**63), ("intermediate_size", 10**30),
                       ("head_dim", 0), ("head_dim", -8), ("num_attention_heads", 2**62), ("num_key_value_heads", 3), ("max_position_embeddings", 2**50),
                       ("rms_norm_eps", 0), ("rope_theta", -1.0), ("hidden_size", "16")):
        path.write_text(json.dumps({**good, key: value}))
        refused(folder, *(("heads",) if key == "num_key_value_heads" else ("config.json", key)))
    for large in ({"hidden_size": 2**20, "num_hidden_layers": 1024}, {"hidden_size": 2**20, "vocab_size": 2**24}):
        path.write_text(json.dumps({**good, **large}))
        refused(folder, "config.json", "10^12")
    for changed, word in ((text.replace('"vocab_size"', '"vocab_size": 8, "vocab_size"'), "twice"), (text[:-1] + ', "x": ' + "[" * 100_000, "levels"),
                          (text[:-1] + ', "x": ' + "[" * 100_000 + "]" * 100_000 + "}", "levels"), (text[:-1], "not a JSON object"),
                          (text[:-1] + ', "rope_theta": 1e999}', "config.json"), ("[" + "{}," * 320_000 + "{}]", "not a JSON object"),
                          (text + " " * 2_000_000, "bytes")):
        path.write_text(changed)
        refused(folder, "config.json", word)
    path.write_text(text)


def indices(folder, weights, path):
    content = weights.read_bytes()
    weights.unlink()
    for names, word in ((((f"t{i}", f"f{i}") for i in range(1_000_000)), "bytes"), (((f"t{i}", f"f{i}") for i in range(400_000)), "1000 files"),
                        (((f"t{i}", "f") for i in range(900_000)), "100000 tensors"), ((("t", "f"), ("t", "g")), "twice"),
                        ((("t", "../f"),), "no file of the folder"), ((("t", "f"),), "'model/f'")):
        write(path, '{"weight_map":{', (f'{"," * (i > 0)}"{tensor}":"{file}"' for i, (tensor, file) in enumerate(names)), "}}")
        refused(folder, word)
    for text, word in (('{"weight_map":' + "[" * 100_000, "nests"), ('{"weight_map":{"a":"b"},"weight_map":{"a":"b"}}', "two"),
                       ('{"weight_map":{"a":"b"', "not valid JSON"), ("[1]", "not a JSON object")):
        path.write_text(text)
        refused(folder, path.name, word)
    path.unlink()
    weights.write_bytes(content)


def tokenizers(folder, path):
    text = path.read_text()

    def changed(**model):
        made = tokenizer()
        made["model"].update(model)
        return json.dumps(made)
    good = tokenizer()["model"]
    vocabulary, merges = good["vocab"], good["merges"]
    for made, word in ((changed(vocab={**vocabulary, "zz": 2**60}), "zz"), (changed(vocab={**vocabulary, "zz": -1}), "zz"),
                       (changed(vocab={**vocabulary, "zz": 1e300}), "zz"), (changed(merges=[*merges, "t "]), "merge"),
                       (changed(merges=[*merges, "th th"]), "merge"), (changed(merges=[*merges, ["the", "the"]]), "merge"),
                       (changed(vocab={}), "tokenizer.json"), (json.dumps(tokenizer()).replace('"t":', '"t": 1, "t":'), "twice"),
                       ('{"model":' + "[" * 100_000, "nests"), ([text] + 33 * [" " * (1 << 20)], "bytes"),
                       (('{"model":{"vocab":{', *(f'"t{i}":{i},' for i in range(150_000)), '"t":150000},"merges":[]}}'), "tokenizer.json")):
        write(path, made)
        refused(folder, word, command=("tokenize", "config.txt"))
    path.write_text(text)


def rows(folder):
    path = folder / "rows.jsonl"
    message = '{"role": "user", "content": "a"},'
    for row, word in (('{"messages": ' + "[" * 100_000, "line 1"), (['{"messages": ['] + [message] * 200_000, "line 1"),
                      (['{"text": "'] + ["a" * 1024] * (17 << 10) + ['"}'], "line 1"), ('{"messages": {"role": 18446744073709551616}}', "line 1"),
                      ('{"text": "\\ud800"}', "line 1")):
        write(path, row, "\n")
        refused(folder, word, command=("eval", "--data", "rows.jsonl", "--context", 16))


def more_tokens_than_rows(folder):
    """Tokens added to the tokenizer alone: harmless until one occurs."""
    path = folder / "model" / "tokenizer.json"
    text = path.read_text()
    made = json.loads(text)
    made["added_tokens"] += [{"id": 261 + i, "content": f"<extra_{i}>", "special": True, "normalized": False} for i in range(3000)]
    path.write_text(json.dumps(made))
    (folder / "some.txt").write_text("the text " * 80)
    (folder / "more.txt").write_text("the text " * 40 + "<extra_2999>" + "the text " * 40)
    for name, answer in (("some", "a"), ("more", "<extra_3>")):
        rows = [json.dumps({"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": said}]}) for said in ["a", "b", answer]]
        (folder / f"{name}.jsonl").write_text("".join(row + "\n" for row in rows))
    run(folder, "sample", "--model", "model", "--prompt", "the", "--length", 5, "--context", 64)
    refused(folder, "<extra_2999>", "264", command=("sample", "--prompt", "<extra_2999>", "--length", 5))
    refused(folder, "<extra_2999>", "264", command=("sample", "--chat", "<extra_2999>", "--length", 5))
    for data in ("some.txt", "some.jsonl"):
        run(folder, "eval", "--model", "model", "--data", data, "--all", "--context", 64)
        run(folder, "train", "--model", "model", "--data", data, "--context", 32, "--iterations", 2, "--out", f"run-{data}")
    refused(folder, "<extra_2999>", "264", command=("eval", "--data", "more.txt", "--all", "--context", 64))
    refused(folder, "<extra_3>", "line 3", command=("eval", "--data", "more.jsonl", "--all", "--context", 64))
    refused(folder, "<extra_2999>", "264", command=("train", "--data", "more.txt", "--context", 32, "--out", "never"))
    refused(folder, "<extra_3>", "line 3", command=("train", "--data", "more.jsonl", "--context", 32, "--out", "never"))
    assert not (folder / "never").exists()
    checked = run(folder, "data", "check", "more.jsonl", "--model", "model", "--json", expect=2).json()
    assert checked["bad_rows"] == 1 and "<extra_3>" in checked["first_bad"], checked
    path.write_text(text)


def not_weights(folder, weights):
    content = weights.read_bytes()
    weights.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    refused(folder, "git lfs pull")
    weights.rename(weights.parent / "pytorch_model.bin")
    refused(folder, "pytorch_model.bin", "safetensors")
    (weights.parent / "pytorch_model.bin").unlink()
    weights.write_bytes(content)


with Temporary() as temporary:
    folder = temporary.path
    (folder / "config.txt").write_text("the text\n")
    model = folder / "model"
    make_model(model)
    run(folder, "plan", "--context", 16, "--model", "model")
    configs(folder, model / "config.json")
    indices(folder, model / "model.safetensors", model / "model.safetensors.index.json")
    tokenizers(folder, model / "tokenizer.json")
    rows(folder)
    not_weights(folder, model / "model.safetensors")
    more_tokens_than_rows(folder)
    run(folder, "plan", "--context", 16, "--model", "model")  # what was changed is whole again
    print(f"{len(figures)} refused, at most {max(peak for peak, _ in figures) / 1e6:.1f} MB and {max(seconds for _, seconds in figures):.2f} s")
