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
    rss_per_parameter: float = 0.0  # or bytes for every parameter

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
        return self.rss_megabytes * 1_000_000 or int(self.rss_per_parameter * self.parameters)

    @property
    def flops_per_step(self):
        weights = 12 * self.layers * self.dim**2 + self.vocab * self.dim
        return self.tokens * (6 * weights + 12 * self.layers * self.context * self.dim)


CONFIGS = {
    "tiny1": Config(65, 32, 2, 4, 40, 1, 10, 20, rss_megabytes=24),
    "tiny4": Config(65, 32, 2, 4, 40, 4, 5, 10, rss_megabytes=24),
    "small1": Config(65, 64, 2, 4, 128, 1, 2.2, 4, rss_megabytes=48),
    "small": Config(65, 64, 2, 4, 128, 16, 1.5, 2, 0.70, 48),
    "nano": Config(65, 64, 4, 4, 128, 12, 1.5, 2, 0.70, 64),
    "baby": Config(65, 256, 6, 6, 384, 64, 1.25, 1.5, 0.70, 1700),
    "gpt2": Config(50304, 64, 12, 12, 768, 4, 1.18, 1.4, 0.70, rss_per_parameter=16 * 1.12),
    "gpt2-long": Config(50304, 1024, 12, 12, 768, 1, 1.1, 1.3, 0.70),
}
