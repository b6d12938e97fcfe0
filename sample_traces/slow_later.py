"""A training that becomes slow at step 1,200 of 2,000, watched; shown in docs/how-to/watch.md.

    python sample_traces/slow_later.py FOLDER

From that step on one of the four layers builds its mask again in each call. It takes about a minute
on a CPU.
"""

from __future__ import annotations

import sys

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention
from torch.utils.data import DataLoader, TensorDataset

import tb_hookview as hookview

STEPS, SLOW_FROM, SLOW_LAYER = 2_000, 1_200, 2
LENGTH, WIDTH, HEADS, BATCH = 256, 32, 4, 2


class Layer(nn.Module):
    """Attention with a causal mask, and two linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.mask: torch.Tensor | None = None
        self.keeps_mask = True

    def causal(self, length: int) -> torch.Tensor:
        """Build the mask, once as long as it is kept."""
        if self.mask is None or not self.keeps_mask:
            self.mask = torch.tensor([[k <= q for k in range(length)] for q in range(length)])
        return self.mask

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run both halves, each added to what comes in."""
        batch, length, width = x.shape
        parts = self.qkv(self.first(x)).view(batch, length, 3 * HEADS, width // HEADS)
        q, k, v = parts.transpose(1, 2).chunk(3, dim=1)
        heads = scaled_dot_product_attention(q, k, v, attn_mask=self.causal(length))
        x = x + self.out(heads.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(torch.relu(self.up(self.second(x))))


class Transformer(nn.Module):
    """Four layers between an embedding and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(256, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(4))
        self.head = nn.Linear(WIDTH, 256)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return logits."""
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def main(folder: str) -> None:
    """Train, watched."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = Transformer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data = TensorDataset(torch.randint(256, (STEPS * BATCH, LENGTH)))
    loss_of = nn.CrossEntropyLoss()
    with hookview.watch(folder, model=model) as watch:
        for step, (tokens,) in enumerate(DataLoader(data, batch_size=BATCH), 1):
            model.layers[SLOW_LAYER].keeps_mask = step < SLOW_FROM
            loss = loss_of(model(tokens)[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            watch.step()


if __name__ == "__main__":
    main(sys.argv[1])
