"""Samples that a slow storage delivers, read by the training process, few workers, or enough."""

from __future__ import annotations

import time

import torch
from torch.utils.data import DataLoader, Dataset

from sample_traces import models
from sample_traces.scenario import Expected, Scenario, Setting, Training, Variant, endless

_READ_S = 0.003
"""Seconds until the storage answers."""


class StoredImages(Dataset[tuple[torch.Tensor, int]]):
    """Images of a storage that answers late; waiting for it takes no processor."""

    def __init__(self, count: int, side: int, read_s: float = _READ_S) -> None:
        self.pixels = torch.randn(3, side, side, generator=torch.Generator().manual_seed(0))
        self.count, self.read_s = count, read_s

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        time.sleep(self.read_s)
        return self.pixels * (1 + index / self.count), index % 16


def _build(setting: Setting, *, workers: int) -> Training:
    count, side = setting.pick(16, 4), setting.pick(224, 96)
    loader = DataLoader(
        StoredImages(500 * count, side),
        batch_size=count,
        num_workers=workers,
        pin_memory=workers > 0 and setting.cuda,
        persistent_workers=workers > 0,
        # The first batches of a pass are not in the recording.
        prefetch_factor=4 if workers else None,
    )
    return models.training_on_loader(setting, loader, setting.pick(128, 48))


SLOW_STORAGE = Scenario(
    "slow_storage",
    "samples read from a slow storage by the training process, against four workers",
    (
        Variant(
            "0_workers",
            lambda setting: _build(setting, workers=0),
            (Expected(("loader-single-process",), needs_device=False),),
        ),
        Variant("4_workers", lambda setting: _build(setting, workers=4)),
    ),
    on_cpu="Each step begins with some 13 ms in `_SingleProcessDataLoaderIter.__next__`; a what-if "
    "without loading (`--scale data=0`) predicts the step with workers. With four of them "
    "batches are there when they are asked for.",
)


def _by_workers(_: Setting, *, workers: int) -> Training:
    loader = DataLoader(
        StoredImages(4000, 96, read_s=0.06),
        batch_size=4,
        num_workers=workers,
        persistent_workers=True,
        prefetch_factor=1,
    )
    batches, model = endless(loader), models.ConvNet(32)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    step = models.training_step(model, optimizer, lambda: next(batches))
    return Training(step, model, close=batches.close)  # type: ignore[attr-defined]


TOO_FEW_WORKERS = Scenario(
    "too_few_workers",
    "samples read from a slower storage by one worker, against eight",
    (
        Variant(
            "1_worker",
            lambda setting: _by_workers(setting, workers=1),
            (Expected(("loader-wait",), needs_device=False),),
        ),
        Variant("8_workers", lambda setting: _by_workers(setting, workers=8)),
    ),
    on_cpu="A batch takes the worker 240 ms and the model less: each step waits in "
    "`_MultiProcessingDataLoaderIter.__next__`. Waiting takes no processor.",
    cpu_only=True,
)
