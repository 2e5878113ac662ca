#!/usr/bin/env python3
"""A vision-language model against transformers and peft: tokens, logits, gradients of connector and adapters, and exports, with
pictures of one, three and five tiles and two pictures in one sample. Bits depend neither on loaders nor on the cache.

    pip install torch==2.13.0 transformers==5.22.2 peft==0.21.2 pillow==13.0.0
"""
import os
import sys

from harness import Temporary, json, run, skip

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", HF_HUB_DISABLE_PROGRESS_BARS="1")
try:
    import numpy
    import peft
    import torch
    import transformers
    from PIL import Image
    from safetensors.torch import load_file
    from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil
    from transformers.models.smolvlm.processing_smolvlm import get_image_prompt_string
except ImportError as missing:
    skip(f"{missing.name} is not installed")

import pictures
from vision_model import ROWS, SPECIAL, VOCABULARY, make_vision_model

torch.set_num_threads(1)
transformers.utils.logging.disable_progress_bar()
CONTEXT, LR, STEPS = 512, 1e-3, 6
problems = []


def expect(what, found, limit):
    print(f"{'ok ' if found <= limit else 'BAD'} {what}: {found:.2e} (at most {limit:g})")
    if not found <= limit:
        problems.append(what)


class Sample:
    """One row and what transformers makes of it."""

    def __init__(self, folder, processor, tokens, question, answer, files, tile_rows=ROWS):
        self.row = {"text": question, "response": answer, "image": files} if files else {"text": question, "response": answer}
        text, values = "", []
        for file in files:
            with Image.open(folder / "pictures" / file) as image:
                made = processor(images=[image.convert("RGB")], return_row_col_info=True)
            values.append(torch.tensor(numpy.array(made["pixel_values"][0])))
            rows, columns = made["rows"][0][0], made["cols"][0][0]
            text += get_image_prompt_string(
                rows, columns, tile_rows, "<fake_token_around_image>", "<image>", "<global-img>")
        before = "<|im_start|>User:" + (text if files else " ") + question + "<end_of_utterance>\nAssistant:"
        given = tokens.encode(before, add_special_tokens=False).ids
        said = tokens.encode(" " + answer + "<end_of_utterance>", add_special_tokens=False).ids
        self.ids = given + said + tokens.encode("\n").ids
        self.learned = [False] * len(given) + [True] * len(said) + [False]
        self.pixels = torch.cat(values)[None] if values else None

    def logits(self, model):
        ids = torch.tensor([self.ids])
        return model(input_ids=ids, attention_mask=torch.ones_like(ids), pixel_values=self.pixels).logits[0]


def loss_of(model, samples):
    """Over all that the assistant says."""
    losses, count = 0, 0
    for sample in samples:
        logits = sample.logits(model)[:-1]
        chosen = torch.tensor(sample.learned[1:])
        losses = losses + torch.nn.functional.cross_entropy(logits[chosen], torch.tensor(sample.ids[1:])[chosen], reduction="sum")
        count += int(chosen.sum())
    return losses / count


def theirs(path):
    return transformers.Idefics3ForConditionalGeneration.from_pretrained(path, dtype=torch.float32).eval()


def make_samples(folder, settings):
    import tokenizers
    (folder / "pictures").mkdir(exist_ok=True)
    rng = numpy.random.default_rng(2)
    for name, kind, height, width in (("wide.png", "png", 30, 60), ("square.jpg", "jpeg", 50, 50), ("tall.webp", "webp-lossless", 90, 45)):
        (folder / "pictures" / name).write_bytes(pictures.make(kind, rng, height, width)[0])
    processor = Idefics3ImageProcessorPil(**settings)
    tokens = tokenizers.Tokenizer.from_file(str(folder / "split" / "tokenizer.json"))
    return [Sample(folder, processor, tokens, *given) for given in (
        ("what?", "a wide one", ["wide.png"]), ("and this?", "square", ["square.jpg"]), ("both", "two of them", ["wide.png", "tall.webp"]),
        ("no picture", "none at all", []), ("the tall", "high", ["tall.webp"]))]


def compare_logits(folder, what, path, samples, model):
    for i, sample in enumerate(samples):
        (folder / "pictures" / "one.jsonl").write_text(json.dumps(sample.row) + "\n")
        run(folder, "eval", *path, "--data", "pictures/one.jsonl", "--all", "--logits", "logits.safetensors",
            *(("--context", CONTEXT) if path[0] == "--model" else ()))
        made = load_file(folder / "logits.safetensors")
        assert made["tokens"][:len(sample.ids) - 1].tolist() == sample.ids[:-1], (what, i, made["tokens"][:len(sample.ids)].tolist(), sample.ids)
        with torch.no_grad():
            expect(f"{what}, sample {i}: logits", (sample.logits(model)[:-1] - made["logits"][:len(sample.ids) - 1]).abs().max().item(), 1e-4)


def train(folder, out, *options, iterations=STEPS):
    run(folder, "train", "--model", "split", "--data", "rows.jsonl", "--images", "pictures", "--context", CONTEXT, "--batch", 1, "--lr", LR,
        "--min-lr", LR, "--warmup", 0, "--clip", 0, "--weight-decay", 0, "--iterations", iterations, "--out", out, "--log-every", 1, "--eval-every", 0,
        "--sample-every", 0, "--checkpoint-every", 1, "--keep", STEPS, "--metrics", f"{out}.metrics", *options)
    rows = [json.loads(line) for line in open(folder / f"{out}.metrics")]
    return [row["loss"] for row in rows if row["type"] == "step"]


def gradient_ours(out, step):
    """The first moment remembers it: m = .9 m' + .1 g."""
    def moments(number):
        return {name[:-2]: tensor for name, tensor in load_file(out / f"step-{number:06}" / "optimizer.safetensors").items() if name.endswith(".m")}
    now = moments(step)
    before = moments(step - 1) if step > 1 else {name: torch.zeros_like(t) for name, t in now.items()}
    return {name: (now[name] - .9 * before[name]) / .1 for name in now}


def train_theirs(model, samples, rate):
    trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
    groups = [{"params": [p], "lr": rate(name)} for name, p in trained.items()]
    optimizer = torch.optim.AdamW(groups, lr=LR, betas=(.9, .999), eps=1e-8, weight_decay=0)
    losses, gradients = [], {}
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(model, samples)
        loss.backward()
        gradients[step + 1] = {name: p.grad.clone() for name, p in trained.items()}
        optimizer.step()
        losses.append(loss.item())
    return losses, gradients


def compare_training(what, folder, out, ours, model, samples, rate=lambda name: LR):
    losses, gradients = train_theirs(model, samples, rate)
    expect(f"{what}: {STEPS} losses", max(abs(a / b - 1) for a, b in zip(ours, losses, strict=True)), 1e-4)
    for step in (1, 3):
        mine = gradient_ours(folder / out, step)
        their = {name.replace("base_model.model.", "").replace(".default", ""): g for name, g in gradients[step].items()}
        assert set(mine) == set(their), set(mine) ^ set(their)
        largest = max(g.abs().max().item() for g in their.values())
        expect(f"{what}, step {step}: gradients of {len(mine)} tensors",
               max((mine[n] - their[n]).abs().max().item() for n in mine) / largest, 1e-4)


def train_set(folder, samples):
    """All but the one that validates: that whose absence gives our first loss."""
    (folder / "rows.jsonl").write_text("".join(json.dumps(sample.row) + "\n" for sample in samples))
    first = train(folder, "probe", iterations=1)[0]
    model = theirs(folder / "split")
    with torch.no_grad():
        found = [i for i in range(len(samples)) if abs(loss_of(model, samples[:i] + samples[i + 1:]).item() / first - 1) < 1e-4]
    assert len(found) == 1, (found, first)
    return samples[:found[0]] + samples[found[0] + 1:]


def check_own(folder):
    """A model begun from nothing opens in transformers: its tokenizer, its pictures, its logits, its chat template."""
    samples = [{"text": "what?", "image": name, "response": answer} for name, answer in (("wide.png", "a wide one"), ("tall.webp", "high"))] * 6
    (folder / "own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in samples))
    run(folder, "train", "--vision", "tiny", "--data", "own.jsonl", "--images", "pictures", "--iterations", 40, "--out", "own", "--eval-every", 0,
        "--image-samples", 0)
    run(folder, "export", "own", "--merged", "own-model")
    processor = Idefics3ImageProcessorPil(**json.loads((folder / "own-model" / "preprocessor_config.json").read_text()))
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder / "own-model")
    model = theirs(folder / "own-model")
    rows = (model.config.vision_config.image_size // model.config.vision_config.patch_size // model.config.scale_factor) ** 2
    made = [Sample(folder, processor, tokenizer.backend_tokenizer, *given, rows) for given in (
        ("what?", "a wide one", ["wide.png"]), ("and this?", "high", ["tall.webp"]), ("both", "two", ["wide.png", "square.jpg"]), ("none", "no", []))]
    compare_logits(folder, "from nothing", ("own",), made, model)
    asked = tokenizer.apply_chat_template([{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "what?"}]}], tokenize=False,
                                          add_generation_prompt=True)
    assert asked == "<|im_start|>User:<image>what?<end_of_utterance>\nAssistant:", asked
    whole = transformers.AutoProcessor.from_pretrained(folder / "own-model")
    said = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "what?"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "a wide one"}]}]
    theirs_ids = whole(text=whole.apply_chat_template(said), images=[Image.open(folder / "pictures" / "wide.png")])["input_ids"][0]
    labelled = run(folder, "tokenize", "own.jsonl", "--labels", "--model", "own-model", "--images", "pictures", "--json").json()["rows"][0]
    assert list(theirs_ids) == labelled, (theirs_ids, labelled)


def main():
    with Temporary() as temporary:
        folder = temporary.path
        _, settings = make_vision_model(folder / "split")
        _, whole = make_vision_model(folder / "whole", split=False, dtype=torch.bfloat16)
        samples = make_samples(folder, settings)
        tiles = [0 if s.pixels is None else s.pixels.shape[1] for s in samples]
        assert tiles == [3, 5, 6, 0, 3], tiles
        compare_logits(folder, "split", ("--model", "split"), samples, theirs(folder / "split"))
        compare_logits(folder, "one tile, bf16", ("--model", "whole"), make_samples(folder, whole), theirs(folder / "whole"))

        check_own(folder)
        chosen = train_set(folder, samples)
        # All of it, tower included; the same in micro-batches of leaves.
        everything = train(folder, "full")
        compare_training("everything", folder, "full", everything, theirs(folder / "split").train(), chosen)
        # Connector and adapters, with a frozen tower.
        adapters = ("--lora-rank", 4, "--lora-alpha", 8)
        run(folder, "train", "--model", "split", "--data", "rows.jsonl", "--images", "pictures", "--context", CONTEXT, "--lr", 0, "--min-lr", 0,
            "--iterations", 1, "--out", "start", "--eval-every", 0, "--sample-every", 0, *adapters)
        run(folder, "export", "start", "--peft", "start-adapter")
        tuned = train(folder, "tuned", "--train", "connector,lora", *adapters)
        model = peft.PeftModel.from_pretrained(theirs(folder / "split"), folder / "start-adapter", is_trainable=True).train()
        for name, parameter in model.named_parameters():
            if "connector" in name:
                parameter.requires_grad_(True)
        compare_training("connector and adapters", folder, "tuned", tuned, model, chosen)
        refused = run(folder, "export", "tuned", "--peft", "never", expect=2)
        assert "--merged" in refused.err and not (folder / "never").exists(), refused
        run(folder, "export", "tuned", "--merged", "merged", "--dtype", "f32")
        compare_logits(folder, "connector and adapters, merged", ("tuned",), samples[:1], theirs(folder / "merged"))
        # Adapters alone: what is seen is cached behind the connector; the adapter opens in peft.
        lora = train(folder, "lora", *adapters)
        model = peft.PeftModel.from_pretrained(theirs(folder / "split"), folder / "start-adapter", is_trainable=True).train()
        compare_training("adapters", folder, "lora", lora, model, chosen)
        run(folder, "export", "lora", "--peft", "adapter")
        compare_logits(folder, "our adapter in peft", ("lora",), samples[:3],
                       peft.PeftModel.from_pretrained(theirs(folder / "split"), folder / "adapter").eval())

        # Adapters in the tower too, with learning rates by part.
        inside = (*adapters, "--lora-targets", "q_proj,down_proj,tower.q_proj,tower.out_proj,tower.fc1", "--train", "connector,lora")
        run(folder, "train", "--model", "split", "--data", "rows.jsonl", "--images", "pictures", "--context", CONTEXT, "--lr", 0, "--min-lr", 0,
            "--iterations", 1, "--out", "start-tower", "--eval-every", 0, "--sample-every", 0, *inside[:-2])
        run(folder, "export", "start-tower", "--peft", "tower-adapter")
        rates = {"vision_model": 2e-4, "connector": 3e-3}
        tower = train(folder, "tower", *inside, "--tower-lr", rates["vision_model"], "--connector-lr", rates["connector"])
        model = peft.PeftModel.from_pretrained(theirs(folder / "split"), folder / "tower-adapter", is_trainable=True).train()
        for name, parameter in model.named_parameters():
            if "connector" in name:
                parameter.requires_grad_(True)
        compare_training("connector and adapters of tower and language model", folder, "tower", tower, model, chosen,
                         lambda name: next((r for part, r in rates.items() if part in name), LR))
        run(folder, "export", "tower", "--merged", "tower-merged", "--dtype", "f32")
        compare_logits(folder, "adapters of the tower, merged", ("tower",), samples[:2], theirs(folder / "tower-merged"))
        train(folder, "tower-only", *adapters, "--lora-targets", ".*vision_model.*\\.(q_proj|fc2)")
        run(folder, "export", "tower-only", "--peft", "tower-only-adapter")
        compare_logits(folder, "our adapter of the tower in peft", ("tower-only",), samples[:2],
                       peft.PeftModel.from_pretrained(theirs(folder / "split"), folder / "tower-only-adapter").eval())
        refused = run(folder, "train", "--model", "split", "--data", "rows.jsonl", "--images", "pictures", "--context", CONTEXT, *inside,
                      "--lora-dropout", .1, "--out", "never", expect=2)
        assert "tower" in refused.err and refused.err.count("\n") == 1, refused

        # Neither loaders nor the cache change a bit.
        wanted = load_file(folder / "lora" / f"step-{STEPS:06}" / "model.safetensors")
        for name, options in (("none", ("--loaders", 0)), ("three", ("--loaders", 3)), ("cached", ("--loaders", 2, "--image-cache", "1MB"))):
            train(folder, name, *adapters, *options)
            made = load_file(folder / name / f"step-{STEPS:06}" / "model.safetensors")
            assert set(made) == set(wanted) and all(torch.equal(made[n], wanted[n]) for n in wanted), name
        # It answers, about two pictures too.
        both = run(folder, "sample", "--model", "split", "--image", "pictures/wide.png", "--image", "pictures/wide.png", "--prompt", "what?", "--length", 4,
                   "--context", 2 * CONTEXT, "--json", expect=None)
        assert both.code == 0 and both.json()["prompt"] == "what?", both
        said = run(folder, "sample", "lora", "--image", "pictures/wide.png", "--chat", "what?", "--length", 12, "--temperature", 0, "--json").json()
        ids = torch.tensor([samples[0].ids[:samples[0].learned.index(True)]])
        tuned_model = peft.PeftModel.from_pretrained(theirs(folder / "split"), folder / "adapter").eval()
        with torch.no_grad():
            # Ids without a token are never drawn here.
            made = tuned_model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), pixel_values=samples[0].pixels, max_new_tokens=12,
                                        do_sample=False, pad_token_id=0, suppress_tokens=list(range(259 + len(SPECIAL), VOCABULARY)))
        made = made[0, ids.shape[1]:].tolist()
        end = samples[0].ids[-2]
        made = made[:made.index(end)] if end in made else made
        words = [b"th", b"the", b"<|end|>", *(text.encode() for text in SPECIAL)]
        wanted = b"".join(bytes([t]) if t < 256 else words[t - 256] for t in made).decode(errors="replace")
        same = said["text"].replace("\ufffd", "") == wanted.replace("\ufffd", "")
        print("said", repr(said["text"]), "theirs", repr(wanted))
        expect("greedy answer about a picture", 0 if same else 1, 0)
    print(f"{len(problems)} problems" + "".join(f"\n  {problem}" for problem in problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
