"""A tiny GPT-2 with random weights under the Hugging Face Trainer, with evaluation and saving; a callback may leak.

hf_run.py FOLDER SAMPLES LEAK_BYTES
"""

import plimsoll

plimsoll.watch(sites=True, interval="200ms")

import sys  # noqa: E402
from typing import Any, Dict, List  # noqa: E402

import torch  # noqa: E402
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments  # noqa: E402

from plimsoll.hf import PlimsollCallback  # noqa: E402

folder, samples, leak = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
kept: List[torch.Tensor] = []


class Metrics(TrainerCallback):
    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if leak:
            kept.append(torch.ones(leak // 4))  # the leak


class Data(torch.utils.data.Dataset):
    def __init__(self, length: int) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, i: int) -> Dict[str, torch.Tensor]:
        tokens = torch.randint(0, 256, (64,), generator=torch.Generator().manual_seed(i))
        return {"input_ids": tokens, "labels": tokens}


model = GPT2LMHeadModel(GPT2Config(vocab_size=256, n_positions=64, n_embd=32, n_layer=2, n_head=2))
arguments = TrainingArguments(
    output_dir=folder,
    num_train_epochs=3,
    per_device_train_batch_size=4,
    eval_strategy="steps",
    eval_steps=250,
    save_steps=500,
    save_total_limit=2,
    logging_steps=50,
    report_to=["tensorboard", "mlflow"],
    use_cpu=True,
    disable_tqdm=True,
)
trainer = Trainer(
    model=model,
    args=arguments,
    train_dataset=Data(samples),
    eval_dataset=Data(64),
    callbacks=[Metrics(), PlimsollCallback()],
)
trainer.train()
