#!/usr/bin/env python3
"""Descriptions of Debian packages become JSON: how many answers to unseen rows are exactly right, with and without selective loss, beside the
same recipe in transformers.

    python3 bench/json_answers.py PROGRAM FOLDER [--steps 1500] [--rows 40000] [--only plain,selective,later,transformers,adapters]

The rows are those of bench/json_rows.py without the homepage, so that a model which starts from random weights can learn them in processor
minutes: published weights cannot be had without a network. A tokenizer of 1,024 tokens is trained on the rows, and a Llama of 0.9 M parameters.
Each arm trains the same model from the same weights, rows, rate and number of steps, then answers 200 unseen rows greedily. An answer counts
when its text is the expected JSON; the fields are counted beside that, since the package can be copied from the question while the section
and the architecture have to be guessed. The arm "later" begins selective loss with the second epoch, which 1,500 steps reach with --rows 12000,
not with 40,000. The arm "adapters" takes the model that "plain" has trained, which writes the structure of the answers already, and tunes it to another
task with the same structure, every section under the name of another one and the architectures negated: as it is, with adapters, and with adapters and
selective loss, for a fifth of the steps. Needs numpy and tokenizers; the arm of transformers needs torch and transformers.
"""
import argparse
import json
import math
import pathlib
import random
import subprocess
import sys
import time

from json_rows import main as make_rows
from learning import make_model, plimsoll

VOCABULARY, CONTEXT, BATCH, RATE, WARMUP = 1024, 256, 4, 3e-3, 100
BETA2, DECAY = 0.95, 0.1
CHATML = ("{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}{% endfor %}"
          "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")


def read_rows(path):
    """Pairs of question and answer."""
    return [tuple(message["content"] for message in json.loads(line)["messages"]) for line in path.read_text().splitlines()]


def make_tokenizer(rows, folder):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    special = ["<|im_start|>", "<|im_end|>", "<|end|>"]
    trainer = trainers.BpeTrainer(vocab_size=VOCABULARY, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator((text for row in rows for text in row), trainer)
    parameters = make_model(folder, "llama", json.loads(tokenizer.to_str()), tokenizer.get_vocab_size(), dim=128, ff=344, layers=4, heads=4, positions=512)
    (folder / "tokenizer_config.json").write_text(json.dumps(
        {"eos_token": "<|im_end|>", "tokenizer_class": "PreTrainedTokenizerFast", "chat_template": CHATML}))
    print(f"{parameters:,} parameters, {tokenizer.get_vocab_size()} tokens", flush=True)


def right(expected, answer):
    """Whether the answer is the expected text, and which of its fields are right."""
    fields = json.loads(expected)
    try:
        given = json.loads(answer)
    except ValueError:
        given = None
    if not isinstance(given, dict):
        given = {}
    return answer == expected, {key: key in given and given[key] == value for key, value in fields.items()}


def show(name, unseen, answers, seconds):
    found = [right(expected, answer) for (_, expected), answer in zip(unseen, answers)]
    fields = ", ".join(f"{key} {sum(hits[key] for _, hits in found)}" for key in found[0][1])
    print(f"{name}: {sum(exact for exact, _ in found)} of {len(unseen)} exact ({fields}); trained in {seconds:.0f} s", flush=True)


# --selective-loss and --selective-from-epoch: a model that starts from random weights has to learn the structure first.
ARMS = {"plain": ("off", 0), "selective": ("moderate", 0), "later": ("moderate", 1)}


def tune(name, program, folder, model, rows, steps, options, *more):
    """Trains the model on the rows; the seconds that took."""
    subprocess.run(["rm", "-rf", folder / name], check=True)
    began = time.monotonic()
    plimsoll(program, "train", "--model", model, "--data", rows, "--out", folder / name, "--iterations", steps,
             "--context", CONTEXT, "--batch", BATCH, "--lr", RATE, "--min-lr", RATE / 20, "--warmup", min(WARMUP, steps // 10), "--beta2", BETA2,
             "--weight-decay", DECAY, "--eval-every", 0, "--sample-every", 0, "--checkpoint-every", 0, "--threads", options.threads, *more)
    return time.monotonic() - began


def ask(program, what, unseen, options):
    return [plimsoll(program, "sample", *what, "--chat", question, "--temperature", 0, "--length", 80, "--threads", options.threads)["text"].strip()
            for question, _ in unseen]


def ours(name, program, folder, unseen, options, selective, epoch):
    seconds = tune(name, program, folder, folder / "model", folder / "rows/train.jsonl", options.steps, options,
                   "--selective-loss", selective, "--selective-from-epoch", epoch)
    show(name, unseen, ask(program, [folder / name], unseen, options), seconds)


def changed(rows):
    """The same questions and structure, other values: every section has the name of the next one, and architectures are negated."""
    names = sorted({json.loads(answer)["section"] for _, answer in rows})
    following = dict(zip(names, names[1:] + names[:1]))

    def other(answer):
        fields = json.loads(answer)
        return json.dumps({**fields, "section": following[fields["section"]], "all_architectures": not fields["all_architectures"]})
    return [(question, other(answer)) for question, answer in rows]


def adapters_arm(program, folder, options):
    unseen = read_rows(folder / "rows/unseen.jsonl")
    rows = changed(unseen + read_rows(folder / "rows/train.jsonl"))
    unseen, rows = rows[:options.unseen], rows[len(unseen):]
    with open(folder / "changed.jsonl", "w") as out:
        for question, answer in rows:
            out.write(json.dumps({"messages": [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]}) + "\n")
    base = folder / "plain-model"
    subprocess.run(["rm", "-rf", base], check=True)
    subprocess.run([program, "export", folder / "plain", "--merged", base, "--dtype", "f32"], check=True, capture_output=True)
    show("changed task, untuned", unseen, ask(program, ["--model", base], unseen, options), 0)
    for name, more in (("adapters", ("--lora-rank", 16)), ("adapters-selective", ("--lora-rank", 16, "--selective-loss", "moderate"))):
        seconds = tune(name, program, folder, base, folder / "changed.jsonl", options.steps // 5, options, *more)
        show(name, unseen, ask(program, [folder / name], unseen, options), seconds)


def transformers_arm(folder, unseen, options):
    import torch
    import transformers
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder / "model")
    model = transformers.AutoModelForCausalLM.from_pretrained(folder / "model", dtype=torch.float32)
    optimizer = torch.optim.AdamW([{"params": [p for p in model.parameters() if p.dim() == 2], "weight_decay": DECAY},
                                   {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0}], lr=RATE, betas=(0.9, BETA2))

    def encode(question, answer):
        before = f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"
        given, said = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in (before, answer + "<|im_end|>"))
        return (given + said)[:CONTEXT + 1], ([-100] * len(given) + said)[:CONTEXT + 1]

    rows = [encode(*row) for row in read_rows(folder / "rows/train.jsonl")]
    draw, queue, began = random.Random(1), [], time.monotonic()
    for step in range(options.steps):
        # As many tokens a step as the windows of the other arms hold.
        batch, room = [], BATCH * CONTEXT
        while True:
            if not queue:
                queue = draw.sample(rows, len(rows))
            if len(queue[-1][0]) > room:
                break
            batch.append(queue.pop())
            room -= len(batch[-1][0])
        longest = max(len(ids) for ids, _ in batch)
        ids = torch.tensor([ids + [0] * (longest - len(ids)) for ids, _ in batch])
        labels = torch.tensor([labels + [-100] * (longest - len(labels)) for _, labels in batch])
        mask = torch.tensor([[1] * len(ids) + [0] * (longest - len(ids)) for ids, _ in batch])
        progress = max(0.0, (step - WARMUP) / max(1, options.steps - WARMUP))
        rate = RATE * (step + 1) / WARMUP if step < WARMUP else RATE / 20 + (RATE - RATE / 20) * (1 + math.cos(math.pi * progress)) / 2
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.zero_grad()
        model(input_ids=ids, attention_mask=mask, labels=labels).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    seconds = time.monotonic() - began
    model.eval()
    answers = []
    end = tokenizer.convert_tokens_to_ids("<|im_end|>")
    for question, _ in unseen:
        ids = torch.tensor([tokenizer(f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n", add_special_tokens=False)["input_ids"]])
        made = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=80, do_sample=False, eos_token_id=end, pad_token_id=0)
        answers.append(tokenizer.decode(made[0, ids.shape[1]:], skip_special_tokens=True).strip())
    show("transformers", unseen, answers, seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--rows", type=int, default=40_000)
    parser.add_argument("--unseen", type=int, default=200)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="plain,selective,later,transformers,adapters")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    make_rows(options.folder / "rows", options.rows, homepage=False)
    make_tokenizer(read_rows(options.folder / "rows/train.jsonl"), options.folder / "model")
    unseen = read_rows(options.folder / "rows/unseen.jsonl")[:options.unseen]
    for name in options.only.split(","):
        if name == "transformers":
            transformers_arm(options.folder, unseen, options)
        elif name == "adapters":
            adapters_arm(options.program, options.folder, options)
        else:
            ours(name, options.program, options.folder, unseen, options, *ARMS[name])


if __name__ == "__main__":
    main()
