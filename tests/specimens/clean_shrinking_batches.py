"""Batches of Python objects shrink over the run and are dropped: memory only goes down."""
import specimen

run = specimen.Run(printed=True)
weights = specimen.model(30)
for step in run:
    size = int(12_000 * (1 - run.progress / 3))
    batch = [{"text": f"sample {step} {i}", "weight": float(i)} for i in range(size)]
    del batch
