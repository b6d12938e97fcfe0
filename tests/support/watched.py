"""A small training to watch, and the rows that a watch wrote of it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tb_hookview.watching.clock import NOTHING, Sampling
from tb_hookview.watching.keeping import Keeper

QUIET: dict[str, Any] = {
    "first": None,
    "slow_factor": None,
    "scalars": False,
    "blocks_every": 1,
}
"""No recording, unless somebody asks for one; blocks in every step, however short."""
PATIENCE_S = 60


def sample_all(monkeypatch: pytest.MonkeyPatch, every: int = 2) -> dict[str, Any]:
    """Have phases and blocks timed in one of `every` steps; return the options."""
    monkeypatch.setattr(Keeper, "sampling", Sampling(every, NOTHING))
    return {**QUIET, "blocks_every": None}


def net() -> nn.Sequential:
    torch.manual_seed(0)
    inner = nn.ModuleDict({"a": nn.Linear(4, 4)})
    return nn.Sequential(nn.Linear(4, 4), nn.Sequential(inner["a"], nn.ReLU()), nn.Dropout(0.5))


def train(model: nn.Module, steps: int, each: Callable[[], None] = lambda: None) -> list[float]:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = DataLoader(TensorDataset(torch.ones(steps, 4)))
    losses = []
    for (batch,) in batches:
        loss = model(batch).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
        each()
    return losses


def lines(folder: Path) -> list[dict[str, Any]]:
    """The lines of all files of steps, oldest first."""
    files = sorted(folder.glob("*.steps.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().split("\n")[:-1]]


def rows(folder: Path) -> list[dict[str, Any]]:
    return [line for line in lines(folder) if "step" in line]


def until(watch: Any, model: nn.Module, done: Callable[[], bool]) -> None:
    """Train until something has happened in the watch's thread."""
    end = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < end, "nothing happened"
        train(model, 1, watch.step)
