"""A training that becomes slow at step 1,200 of 2,000, watched; shown in docs/how-to/watch.md.

    python sample_traces/slow_later.py FOLDER

From that step on, the deviation of each gradient of one of the six layers is logged. It takes two
minutes on a CPU.
"""

from __future__ import annotations

import statistics
import sys
from collections import deque

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention
from torch.utils.data import DataLoader, RandomSampler, TensorDataset

import tb_hookview as hookview

STEPS, SLOW_FROM, SLOW_LAYER = 2_000, 1_200, 4
SIDE, WIDTH, HEADS, BATCH, IMAGES = 14, 64, 4, 2, 64


class Layer(nn.Module):
    """Attention, and two linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run both halves, each added to what comes in."""
        batch, patches, width = x.shape
        parts = self.qkv(self.first(x)).view(batch, patches, 3 * HEADS, width // HEADS)
        q, k, v = parts.transpose(1, 2).chunk(3, dim=1)
        heads = scaled_dot_product_attention(q, k, v)
        x = x + self.out(heads.transpose(1, 2).reshape(batch, patches, width))
        return x + self.down(torch.relu(self.up(self.second(x))))


class Transformer(nn.Module):
    """Six layers on the patches of an image."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Conv2d(3, WIDTH, 4, stride=4)
        self.layers = nn.ModuleList(Layer() for _ in range(6))
        self.head = nn.Linear(WIDTH, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return logits."""
        x = self.embed(images).flatten(2).transpose(1, 2)
        for layer in self.layers:
            x = layer(x)
        return self.head(x.mean(1))


def log_gradients(layer: nn.Module) -> None:
    """Keep the deviation of each of a layer's gradients from now on."""
    log: deque[float] = deque(maxlen=100)

    def keep(gradient: torch.Tensor) -> None:
        log.append(statistics.stdev(gradient.flatten().tolist()))

    for parameter in layer.parameters():
        parameter.register_hook(keep)


def main(folder: str) -> None:
    """Train, watched."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = Transformer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data = TensorDataset(torch.randn(IMAGES, 3, 4 * SIDE, 4 * SIDE), torch.arange(IMAGES) % 10)
    drawn = RandomSampler(data, replacement=True, num_samples=STEPS * BATCH)
    loss_of = nn.CrossEntropyLoss()
    with hookview.watch(folder, model=model) as watch:
        for step, (images, labels) in enumerate(DataLoader(data, BATCH, sampler=drawn), 1):
            if step == SLOW_FROM:
                log_gradients(model.layers[SLOW_LAYER])
            loss = loss_of(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            watch.step()


if __name__ == "__main__":
    main(sys.argv[1])
