"""The mean loss of labelled rows by transformers, each row alone: row_loss.py MODEL < {"rows": [...], "labels": [...]}"""
import json
import sys

import torch
import transformers

model = transformers.AutoModelForCausalLM.from_pretrained(sys.argv[1])
given = json.load(sys.stdin)
total, count = 0.0, 0
with torch.no_grad():
    for ids, labels in zip(given["rows"], given["labels"]):
        losses = torch.nn.functional.cross_entropy(model(torch.tensor([ids])).logits[0, :-1], torch.tensor(labels[1:]), ignore_index=-1, reduction="none")
        total += losses.double().sum().item()
        count += sum(label >= 0 for label in labels[1:])
print(json.dumps({"loss": total / count, "targets": count}))
