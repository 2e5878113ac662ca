"""Every sample is cached the first time it is seen; the first epoch is over after a third of the run."""
import specimen

run = specimen.Run(printed=True)
weights = specimen.model(30)
cache = {}
samples = run.steps // 3
for step in run:
    key = step % samples
    if key not in cache:
        cache[key] = bytearray(key % 251 for _ in range(60_000))
