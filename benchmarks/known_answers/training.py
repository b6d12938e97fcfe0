"""Training steps on the CPU, with what the pairs change in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.utils.checkpoint import checkpoint

BATCH, TOKENS, WIDTH = 8, 48, 128


class Training(NamedTuple):
    """A model, and a step of its training."""

    model: nn.Module
    step: Callable[[], object]
    length: int = 1
    """Steps of a block: more than one where steps differ from one another by turns."""


class Block(nn.Module):
    """A residual block."""

    def __init__(
        self, *, inner: int = 4 * WIDTH, norm: bool = True, act: type[nn.Module] = nn.GELU
    ) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH) if norm else nn.Identity()
        self.up = nn.Linear(WIDTH, inner)
        self.act = act()
        self.down = nn.Linear(inner, WIDTH)

    def forward(self, tokens: Tensor) -> Tensor:
        """Add what the block makes of its input to it."""
        return tokens + torch.as_tensor(self.down(self.act(self.up(self.norm(tokens)))))


class Checkpointed(nn.Module):
    """Modules one after another, whose forward is run again in the backward."""

    def __init__(self, *modules: nn.Module) -> None:
        super().__init__()
        self.inner = nn.Sequential(*modules)

    def forward(self, tokens: Tensor) -> Tensor:
        """What the last of them returns."""
        return torch.as_tensor(checkpoint(self.inner, tokens, use_reentrant=False))


class Twice(nn.Module):
    """A module applied two times."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, tokens: Tensor) -> Tensor:
        """Apply it to its own result."""
        return torch.as_tensor(self.inner(self.inner(tokens)))


class Scores(nn.Module):
    """Pools each sample, by a loop over the batch or by one call."""

    def __init__(self, *, loop: bool) -> None:
        super().__init__()
        self.loop = loop
        self.head = nn.Linear(WIDTH, 10)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits of each sample."""
        if not self.loop:
            return torch.as_tensor(self.head(tokens.softmax(1).mul(tokens).sum(1)))
        pooled = [each.softmax(0).mul(each).sum(0) for each in tokens]
        return torch.stack([self.head(each) for each in pooled])


def network(*parts: nn.Module, loop: bool = False) -> nn.Module:
    """A classifier of sequences; its parts are named by their numbers, the last one pools."""
    return nn.Sequential(*parts, Scores(loop=loop))


def blocks(count: int = 2, *, norm: bool = True, act: type[nn.Module] = nn.GELU) -> list[nn.Module]:
    """`count` equal layers."""
    return [Block(norm=norm, act=act) for _ in range(count)]


def sgd(model: nn.Module) -> Optimizer:
    """The optimizer with the least work."""
    return torch.optim.SGD(model.parameters(), lr=1e-3)


def adamw(model: nn.Module, *, foreach: bool = True) -> Optimizer:
    """The optimizer with more work."""
    return torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=foreach)


def training(
    model: nn.Module,
    batches: Iterator[Tensor] | None = None,
    *,
    optimizer: Callable[[nn.Module], Optimizer] = sgd,
    clip: bool = False,
    length: int = 1,
) -> Training:
    """A step that trains a model on batches, or on the same batch again and again."""
    chosen = optimizer(model)
    constant = torch.randn(BATCH, TOKENS, WIDTH)
    label = torch.arange(BATCH)

    def step() -> None:
        tokens = constant if batches is None else next(batches)
        chosen.zero_grad()
        torch.autograd.backward(nn.functional.cross_entropy(model(tokens), label))
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=False)
        chosen.step()

    return Training(model, step, length)
