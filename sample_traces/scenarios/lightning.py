"""A training that Lightning's Trainer runs, recorded by the callback."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from sample_traces import libraries, models
from sample_traces.scenario import Recording, Scenario, Setting, Variant


def _record(setting: Setting, folder: Path, recording: Recording) -> None:
    package = libraries.load("lightning.pytorch")
    callback = libraries.load("tb_hookview.integrations.lightning").HookviewCallback
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    side, count = setting.pick(128, 64), setting.pick(32, 4)
    images = TensorDataset(torch.randn(16 * count, 3, side, side), torch.randint(16, (16 * count,)))
    trainer = package.Trainer(
        accelerator=setting.device.type,
        devices=1,
        max_steps=recording.total,
        callbacks=[callback(folder, schedule=recording.schedule(), **recording.options())],
        **dict.fromkeys(
            ("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False
        ),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there is no validation and are no workers
        trainer.fit(_classifier(package, setting), DataLoader(images, batch_size=count))


def _classifier(package: Any, setting: Setting) -> Any:
    class Classifier(package.LightningModule):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.net = models.ConvNet(setting.pick(64, 16))
            self.loss = nn.CrossEntropyLoss()

        def training_step(self, batch: list[torch.Tensor], _: int) -> torch.Tensor:
            loss: torch.Tensor = self.loss(self.net(batch[0]), batch[1])
            return loss

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), lr=1e-3)

    return Classifier()


LIGHTNING = Scenario(
    "lightning",
    "a convolutional net that Lightning's Trainer trains",
    (Variant("trainer", record=_record),),
    needs=("lightning",),
    on_cpu="Recorded by `HookviewCallback`: `net` and `loss` are modules of the LightningModule, "
    "and Lightning's own annotations lie around them.",
)
