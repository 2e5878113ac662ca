"""The memo of leak_memo.py with a bound that is reached early."""
import functools

import specimen


@functools.lru_cache(maxsize=60)
def tokenized(text):
    return [hash((text, i)) for i in range(3000)]


run = specimen.Run(printed=True)
weights = specimen.model(30)
for step in run:
    tokenized(f"document {step}")
