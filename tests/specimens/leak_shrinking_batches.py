"""Every step keeps its samples as Python objects; batches shrink to two thirds over the run, as a curriculum does."""
import specimen

run = specimen.Run(printed=True)
specimen.confess()
weights = specimen.model(30)
history = []
for step in run:
    size = int(150 * (1 - run.progress / 3))
    history.append([{"text": f"sample {step} {i}", "weight": float(i)} for i in range(size)])
