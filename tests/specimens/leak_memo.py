"""A memo without a bound whose keys never repeat."""
import functools

import specimen


@functools.lru_cache(maxsize=None)
def tokenized(text):
    return [hash((text, i)) for i in range(700)]


run = specimen.Run(printed=True)
specimen.confess()
weights = specimen.model(30)
for step in run:
    tokenized(f"document {step}")
