"""A small model under Lightning with validation and checkpoints; a callback may leak.

lightning_run.py FOLDER SAMPLES LEAK_BYTES
"""

import plimsoll

plimsoll.watch(sites=True, interval="200ms")

import sys  # noqa: E402
from typing import Any, List  # noqa: E402

import lightning  # noqa: E402
import torch  # noqa: E402
from lightning.pytorch.loggers import MLFlowLogger, TensorBoardLogger  # noqa: E402

from plimsoll.lightning import PlimsollCallback  # noqa: E402

folder, samples, leak = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
kept: List[torch.Tensor] = []


class Metrics(lightning.Callback):
    def on_train_batch_end(self, *_: Any) -> None:
        if leak:
            kept.append(torch.ones(leak // 4))  # the leak


class Model(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 256))

    def training_step(self, batch: torch.Tensor, _: int) -> torch.Tensor:
        return (self.net(batch) - batch).pow(2).mean()

    def validation_step(self, batch: torch.Tensor, _: int) -> None:
        self.log("validation", (self.net(batch) - batch).pow(2).mean())

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters())


def loader(length: int) -> Any:
    return torch.utils.data.DataLoader(torch.randn(length, 256), batch_size=64)


trainer = lightning.Trainer(
    max_epochs=3,
    accelerator="cpu",
    default_root_dir=folder,
    log_every_n_steps=50,
    val_check_interval=250,
    enable_progress_bar=False,
    logger=[TensorBoardLogger(folder, name="runs"), MLFlowLogger(tracking_uri=f"file:{folder}/mlruns")],
    callbacks=[Metrics(), PlimsollCallback()],
)
trainer.fit(Model(), loader(samples), loader(256))
