"""If Hugging Face's `tokenizers` is installed: ids and decoded text of random Unicode and of real text are the same as theirs."""
from harness import LONG, SOURCE, Temporary, environment, json, os, run, skip, subprocess

SCRIPT = SOURCE / "tests" / "oracle" / "tokenizers_oracle.py"
COUNT = 200_000 if LONG else 4_000
FILES = [file for file in (str(SOURCE / "LICENSE"), os.environ.get("PLIMSOLL_TEXT")) if file]


def python_with(module):
    for python in filter(None, (os.environ.get("PLIMSOLL_PYTHON"), "python3")):
        try:
            if subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0:
                return python
        except OSError as error:
            print(f"{python}: {error}")
    skip(f"neither python3 nor $PLIMSOLL_PYTHON can import {module}")


def compare(folder, name, texts, expected):
    got = run(folder, "tokenize", "--model", f"{name}.json", "texts.jsonl", "--template", "--json").json()["rows"]
    assert len(got) == len(expected) == len(texts), (name, len(got), len(expected))
    for text, ours, (theirs, _) in zip(texts, got, expected):
        assert ours == theirs, f"{name}: {text[:200]!r}\nours:   {ours[:200]}\ntheirs: {theirs[:200]}"
    for ids, text in expected[:20] + expected[-8:]:
        (folder / "ids.json").write_text(json.dumps({"ids": ids}))
        decoded = run(folder, "tokenize", "--model", f"{name}.json", "ids.json", "--decode", "--json").json()["text"]
        assert decoded == text, f"{name}: {ids[:100]} decoded to {decoded[:200]!r}, expected {text[:200]!r}"


def main():
    python = python_with("tokenizers")
    with Temporary() as folder:
        subprocess.run([python, str(SCRIPT), str(folder.path), str(COUNT), *FILES], check=True,
                       env=environment({"PLIMSOLL_TOKENIZERS": os.environ.get("PLIMSOLL_TOKENIZERS", "")}))
        texts = [json.loads(line)["text"] for line in open(folder.path / "texts.jsonl")]
        for file in sorted(folder.path.glob("*.ids")):
            expected = [json.loads(line) for line in open(file)]
            compare(folder.path, file.stem, texts, expected)
            print(f"{file.stem}: {len(texts)} texts, {sum(len(ids) for ids, _ in expected)} tokens are the same")


if __name__ == "__main__":
    main()
