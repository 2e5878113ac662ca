"""Trains small tokenizers of every supported pipeline with Hugging Face `tokenizers` and writes what it makes of many texts.

tokenizers_oracle.py FOLDER COUNT [FILE...] writes FOLDER/NAME.json for each tokenizer, FOLDER/texts.jsonl with COUNT random
texts and the FILEs, and FOLDER/NAME.ids with a line of ids for each of them. Real tokenizer.json files can be named in
$PLIMSOLL_TOKENIZERS, separated by colons.
"""
import json
import os
import random
import sys
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

SOURCE = Path(__file__).resolve().parents[2]
MODERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
CHAT = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|begin_of_text|>"]


def split(digits):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(MODERN % digits), "isolated"),
                                    pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False)])


def train(pre_tokenizer, texts, normalizer=None, whole_alphabet=True, unknown=None):
    tokenizer = Tokenizer(models.BPE(unk_token=unknown, fuse_unk=False))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizer, decoders.ByteLevel()
    if normalizer:
        tokenizer.normalizer = normalizer
    alphabet = pre_tokenizers.ByteLevel.alphabet() if whole_alphabet else []
    special = CHAT + ([unknown] if unknown else [])
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=3000, special_tokens=special, initial_alphabet=alphabet,
                                                             show_progress=False))
    return tokenizer


def as_strings(text):
    """Merges as older files write them."""
    data = json.loads(text)
    data["model"]["merges"] = [" ".join(pair) for pair in data["model"]["merges"]]
    return json.dumps(data)


def make(texts):
    """{name: tokenizer.json}"""
    byte_level = pre_tokenizers.ByteLevel
    made = {"gpt2": as_strings(train(byte_level(add_prefix_space=False), texts).to_str()),
            "smollm2": train(pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                                      byte_level(add_prefix_space=False)]), texts).to_str(),
            "qwen2": train(split(""), texts, normalizers.NFC()).to_str(),
            "nfkc": train(byte_level(add_prefix_space=True), texts, normalizers.NFKC()).to_str(),
            "missing": train(byte_level(add_prefix_space=False), ["plain words only"] * 9, whole_alphabet=False).to_str(),
            "unknown": train(byte_level(add_prefix_space=False), ["plain words only"] * 9, whole_alphabet=False,
                             unknown="<unk>").to_str()}
    llama = train(split("{1,3}"), texts)
    begin = llama.token_to_id("<|begin_of_text|>")
    llama.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(single="<|begin_of_text|> $A", pair="<|begin_of_text|> $A $B",
                                      special_tokens=[("<|begin_of_text|>", begin)])])
    data = json.loads(llama.to_str())
    data["model"]["ignore_merges"] = True
    del data["model"]["merges"][500::3]  # so that it matters
    made["llama3"] = json.dumps(data)
    flags = train(split(""), texts, normalizers.NFC())
    flags.add_special_tokens([AddedToken("<left>", lstrip=True), AddedToken("<right>", rstrip=True)])
    flags.add_tokens([AddedToken("word", single_word=True), AddedToken("e\u0301e", normalized=True), "wordy", "<ri",
                      AddedToken(" both ", lstrip=True, rstrip=True, normalized=False)])
    made["flags"] = flags.to_str()
    for path in filter(None, os.environ.get("PLIMSOLL_TOKENIZERS", "").split(":")):
        made["real-" + Path(path).stem] = Path(path).read_text(encoding="utf-8")
    return made


def random_texts(count, seed):
    draw = random.Random(seed)
    spaces = " \t\n\r\v\f\x85\xa0\u1680\u2003\u2028\u2029\u202f\u205f\u3000"
    fixed = CHAT + ["'s", "'LL", "'\u017f", "'Re", "n't", " 'd", "'", "\r\n", "\n\n", "  ", "   x", "<left>", "<right>", "word", "wordy",
                    " both ", "e\u0301", "\u00e9e", "123", "1234567", "\u2160\u00bd\u0663", "\u1100\u1161\u11a8", "\ufb01", "\u200d", "_",
                    "Hello", " world", "\U0001f469\u200d\U0001f52c", "\u4e2d\u6587", "a\u0316\u0301\u0345", "\u0915\u093c", "\x00"]
    blocks = [(0x20, 0x7E), (0, 0x2FF), (0x300, 0x36F), (0x370, 0x7FF), (0x900, 0xDFF), (0x1100, 0x11FF), (0x2000, 0x2BFF),
              (0x3000, 0x9FFF), (0xAC00, 0xD7A3), (0xE000, 0xFFFF), (0x10000, 0x1FFFF), (0x20000, 0x10FFFF)]

    def part():
        kind = draw.random()
        if kind < 0.3:
            return draw.choice(fixed)
        if kind < 0.45:
            return "".join(draw.choices(spaces if draw.random() < 0.5 else " \n", k=draw.randint(1, 5)))
        first, last = draw.choice(blocks[:2] if kind < 0.6 else blocks)
        found = (chr(draw.randint(first, last)) for _ in range(draw.randint(1, 8)))
        return "".join(c for c in found if not "\ud800" <= c <= "\udfff")

    return ["".join(part() for _ in range(draw.randint(0, 12))) for _ in range(count)]


def main():
    folder, count, files = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    sentences = [path.read_text(encoding="utf-8") for path in sorted(SOURCE.glob("docs/*.md"))]
    texts = random_texts(count, 1) + ["", "\u0301", " "] + ["ab" * 3000, "\u0316\u0301" * 50]
    texts += [Path(file).read_bytes().decode() for file in files]
    for name, text in make(sentences + random_texts(500, 2)).items():
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
        tokenizer = Tokenizer.from_str(text)
        with open(folder / f"{name}.ids", "w") as out:
            for begin in range(0, len(texts), 10_000):
                batch = texts[begin:begin + 10_000]
                for encoding in tokenizer.encode_batch(batch, add_special_tokens=True):
                    # What decoding gives, too.
                    out.write(json.dumps([encoding.ids, tokenizer.decode(encoding.ids, skip_special_tokens=False)]) + "\n")
    with open(folder / "texts.jsonl", "w") as out:
        out.writelines(json.dumps({"text": text}) + "\n" for text in texts)


if __name__ == "__main__":
    main()
