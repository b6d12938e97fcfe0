"""Batches of a `DataLoader`: some that are waited for, and some that are worked for."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from known_answers.training import BATCH, TOKENS, WIDTH

_DIFFERENT = 16


class Batches(Dataset[Tensor]):
    """Batches, again and again; each takes some time to read, or some work to transform."""

    def __init__(self, milliseconds: float, transforms: int) -> None:
        self.seconds = milliseconds / 1000
        self.transforms = transforms
        self.batches = torch.randn(_DIFFERENT, BATCH, TOKENS, WIDTH)

    def __len__(self) -> int:
        return 1 << 20

    def __getitem__(self, number: int) -> Tensor:
        if self.seconds:
            time.sleep(self.seconds)
        batch = self.batches[number % _DIFFERENT]
        for _ in range(self.transforms):
            batch = batch.sin()
        return batch


def batches(milliseconds: float = 0, transforms: int = 0, workers: int = 0) -> Iterator[Tensor]:
    """Batches without end that take so long to read, or to transform."""
    data = Batches(milliseconds, transforms)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # more workers than cores: they mostly sleep
        return iter(DataLoader(data, batch_size=None, num_workers=workers))
