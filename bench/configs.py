"""The models of the benchmark and their targets, in one table that is read by the driver and by the PyTorch side."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    vocab: int
    context: int
    layers: int
    heads: int
    dim: int
    batch: int
    passing: float = 0.0  # smallest ratio PyTorch / Plimsoll that counts as a pass
    aim: float = 0.0
    peak_share: float = 0.0  # smallest share of the machine's own sgemm peak, 0 where none is asked
    rss_megabytes: int = 0  # most the whole process may take, 0 where none is asked
    most_rounds: int = 99  # a step of seconds needs fewer

    @property
    def tokens(self):
        return self.batch * self.context

    @property
    def parameters(self):
        """Tied head, biases everywhere, feed-forward four times as wide."""
        block = 12 * self.dim**2 + 13 * self.dim
        return (self.vocab + self.context) * self.dim + self.layers * block + 2 * self.dim

    @property
    def rss_limit(self):
        return self.rss_megabytes * 1_000_000

    @property
    def flops_per_step(self):
        weights = 12 * self.layers * self.dim**2 + self.vocab * self.dim
        return self.tokens * (6 * weights + 12 * self.layers * self.context * self.dim)


CONFIGS = {
    "tiny1": Config(65, 32, 2, 4, 40, 1, 14, 20, rss_megabytes=24),
    "tiny4": Config(65, 32, 2, 4, 40, 4, 8, 12, rss_megabytes=24),
    "small1": Config(65, 64, 2, 4, 128, 1, 2.2, 4, rss_megabytes=24),
    "small": Config(65, 64, 2, 4, 128, 16, 1.85, 2.2, 0.80, 26),
    "nano": Config(65, 64, 4, 4, 128, 12, 1.9, 2.2, 0.80, 40),
    "baby": Config(65, 256, 6, 6, 384, 64, 1.35, 1.5, 0.80, 300, most_rounds=3),
    "gpt2": Config(50304, 64, 12, 12, 768, 4, 1.4, 1.6, 0.80, 1700),
    "gpt2-long": Config(50304, 1024, 12, 12, 768, 1, 1.25, 1.4, 0.80, most_rounds=3),
}
