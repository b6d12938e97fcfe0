"""Small models whose memory is known, and one training step of any of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn, optim
from torch.utils.checkpoint import checkpoint

import tb_hookview as hookview
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.loading import load


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.act, self.down = nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 128)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.down(self.act(self.up(x)))


class Stack(nn.Module):
    def __init__(self, blocks: list[nn.Module], *, checkpointed: bool = False) -> None:
        super().__init__()
        self.blocks, self.checkpointed = nn.ModuleList(blocks), checkpointed

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.checkpointed else block(x)
        return x


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.out = nn.Embedding(1000, 128), nn.Linear(128, 1000, bias=False)
        self.middle = Mlp()
        self.out.weight = self.embedding.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.middle(self.embedding(x)))


class Case(NamedTuple):
    make: Callable[[], nn.Module]
    batch: Callable[[], Tensor]


def _conv() -> nn.Module:
    first = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU())
    return nn.Sequential(first, nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16 * 16 * 16, 16))


def _transformer() -> nn.Module:
    return Stack([nn.TransformerEncoderLayer(128, 4, 256, batch_first=True) for _ in range(2)])


CASES = {
    "mlp": Case(lambda: Stack([Mlp() for _ in range(3)]), lambda: torch.randn(512, 128)),
    "conv": Case(_conv, lambda: torch.randn(32, 3, 32, 32)),
    "transformer": Case(_transformer, lambda: torch.randn(8, 64, 128)),
    "checkpointed": Case(
        lambda: Stack([Mlp() for _ in range(3)], checkpointed=True), lambda: torch.randn(512, 128)
    ),
    "tied": Case(Tied, lambda: torch.randint(0, 1000, (16, 32))),
}


def made(case: str) -> tuple[nn.Module, optim.Optimizer, Callable[[], Tensor]]:
    """A model, its optimizer and what makes batches; the same on every call."""
    torch.manual_seed(0)
    model = CASES[case].make()
    return model, optim.Adam(model.parameters()), CASES[case].batch


def train(model: nn.Module, optimizer: optim.Optimizer, batch: Callable[[], Tensor]) -> None:
    """One step."""
    x = batch()
    model(x).pow(2).mean().backward()
    optimizer.step()
    optimizer.zero_grad()


def recorded(case: str, folder: Path, steps: int = 2) -> Analysis:
    """Record steps of a case with its memory."""
    model, optimizer, batch = made(case)
    hookview.wrap(model)
    with hookview.profile(
        folder,
        profile_memory=True,
        schedule=torch.profiler.schedule(wait=0, warmup=0, active=steps, repeat=1),
    ) as profiler:
        for _ in range(steps):
            train(model, optimizer, batch)
            profiler.step()
    (path,) = folder.glob("*.gz")
    return load(path)
