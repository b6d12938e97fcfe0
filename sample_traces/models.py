"""Builds the models and batches that several scenarios share, with random weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import pairwise
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - its usual name

from sample_traces.scenario import Setting, Training, endless

Step = Callable[[], torch.Tensor]


class ConvNet(nn.Module):
    """Images (batch, 3, side, side) to scores (batch, classes) by convolutions that halve them."""

    def __init__(self, width: int, depth: int = 4, classes: int = 16) -> None:
        super().__init__()
        widths = [3, *(width * min(2**stage, 4) for stage in range(depth))]
        self.stages = nn.Sequential(*(Stage(*pair) for pair in pairwise(widths)))
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(widths[-1], classes)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Classify."""
        scores: torch.Tensor = self.head(self.pool(self.stages(images)).flatten(1))
        return scores


class Stage(nn.Module):
    """A convolution that halves the image, and one that keeps it."""

    def __init__(self, width_in: int, width: int) -> None:
        super().__init__()
        self.down = nn.Conv2d(width_in, width, 3, stride=2, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(width)
        self.conv = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return (batch, width, side / 2, side / 2)."""
        return F.relu(self.conv(F.relu(self.norm(self.down(images)))))


class Perceptron(nn.Sequential):
    """Vectors to scores by linear layers of one width."""

    def __init__(self, inputs: int, width: int, depth: int, classes: int) -> None:
        layers: list[nn.Module] = [nn.Linear(inputs, width), nn.GELU()]
        for _ in range(depth):
            layers += [nn.Linear(width, width), nn.GELU()]
        super().__init__(*layers, nn.Linear(width, classes))


class Block(nn.Module):
    """Causal attention by torch's fused operator, and a two-layer perceptron."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return (batch, length, width)."""
        batch, length, width = tokens.shape
        split = self.qkv(self.norm1(tokens)).view(batch, length, 3, self.heads, -1)
        query, key, value = split.permute(2, 0, 3, 1, 4).unbind(0)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        tokens = tokens + self.proj(mixed.transpose(1, 2).reshape(batch, length, width))
        result: torch.Tensor = tokens + self.mlp(self.norm2(tokens))
        return result


class Gpt(nn.Module):
    """Tokens (batch, length) to scores (batch, length, vocabulary)."""

    def __init__(self, vocabulary: int, width: int, depth: int, length: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.places = nn.Parameter(torch.randn(length, width) * 0.02)
        self.blocks = nn.ModuleList(Block(width, max(1, width // 64)) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Score the next token at each position."""
        x = self.embed(tokens) + self.places
        for block in self.blocks:
            x = self.run(block, x)
        scores: torch.Tensor = self.head(self.norm(x))
        return scores

    def run(self, block: nn.Module, x: torch.Tensor) -> torch.Tensor:
        """Run one block; activation checkpointing comes in here."""
        result: torch.Tensor = block(x)
        return result


def training_step(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    batch: Callable[[], tuple[torch.Tensor, torch.Tensor]],
    loss_fn: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] = F.cross_entropy,
    autocast: Callable[[], AbstractContextManager[Any]] = nullcontext,
) -> Step:
    """Return the usual step: batch, forward, loss, backward, optimizer."""

    def step() -> torch.Tensor:
        inputs, targets = batch()
        optimizer.zero_grad()
        with autocast():
            loss = loss_fn(model(inputs), targets)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def training_on_loader(setting: Setting, loader: Iterable[Any], width: int) -> Training:
    """Train a ConvNet on a loader's images and labels, copied without waiting."""
    batches = endless(loader)
    model = ConvNet(width).to(setting.device)

    def batch() -> tuple[torch.Tensor, torch.Tensor]:
        pixels, labels = next(batches)
        return (
            pixels.to(setting.device, non_blocking=True),
            labels.to(setting.device, non_blocking=True),
        )

    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    step = training_step(model, optimizer, batch, autocast=bf16(setting))
    return Training(step, model, close=batches.close)  # type: ignore[attr-defined]


def bf16(setting: Setting) -> Callable[[], AbstractContextManager[Any]]:
    """Return what enters autocast in bf16 on the setting's device."""
    return lambda: torch.autocast(setting.device.type, dtype=torch.bfloat16)


def vectors(
    setting: Setting, count: int, width: int, classes: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return inputs (count, width) and labels (count,), on the device."""
    inputs = torch.randn(count, width, device=setting.device)
    return inputs, torch.randint(classes, (count,), device=setting.device)


def images(
    setting: Setting, count: int, side: int, classes: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return images (count, 3, side, side) and labels (count,), on the device."""
    pixels = torch.randn(count, 3, side, side, device=setting.device)
    return pixels, torch.randint(classes, (count,), device=setting.device)


def tokens(
    setting: Setting, batch: int, length: int, vocabulary: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return tokens (batch, length) and the tokens that follow them, on the device."""
    text = torch.randint(vocabulary, (batch, length + 1), device=setting.device)
    return text[:, :-1].contiguous(), text[:, 1:].contiguous()


def token_loss(scores: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the mean cross entropy over all positions."""
    return F.cross_entropy(scores.flatten(0, 1), targets.flatten())


@contextmanager
def deterministic(_: Setting) -> Iterator[None]:
    """Use torch's deterministic kernels."""
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)
