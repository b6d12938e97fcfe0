"""Moves batches to the GPU: from pageable memory, from host tensors, by a slow loader."""

from __future__ import annotations

import os
import zlib

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - its usual name
from torch.utils.data import DataLoader, Dataset

from sample_traces import models
from sample_traces.scenario import Expected, Scenario, Setting, Training, Variant, endless

_STORED_SIDE = 128


def _pageable_copy(setting: Setting, *, pinned: bool) -> Training:
    """Yields batches from memory, pinned or not."""
    count, side = setting.pick(256, 4), setting.pick(224, 64)
    model = models.ConvNet(setting.pick(64, 8)).to(setting.device)
    batches = [
        (torch.randn(count, 3, side, side), torch.randint(16, (count,)))
        for _ in range(setting.pick(4, 2))
    ]
    if pinned and setting.cuda:
        batches = [(pixels.pin_memory(), labels.pin_memory()) for pixels, labels in batches]
    ready = endless(batches)

    def batch() -> tuple[torch.Tensor, torch.Tensor]:
        pixels, labels = next(ready)
        return (
            pixels.to(setting.device, non_blocking=pinned),
            labels.to(setting.device, non_blocking=pinned),
        )

    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    autocast = models.bf16(setting)
    return Training(models.training_step(model, optimizer, batch, autocast=autocast), model)


class NoisyEncoder(nn.Module):
    """Adds noise and a code of the place to sequences (batch, length, width)."""

    def __init__(self, *, on_host: bool) -> None:
        super().__init__()
        self.on_host = on_host

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Keep the shape."""
        if self.on_host:
            noise = torch.randn(x.shape).to(x.device)
            places = torch.arange(x.shape[1], dtype=torch.float32).to(x.device)
        else:
            noise = torch.randn(x.shape, device=x.device)
            places = torch.arange(x.shape[1], dtype=torch.float32, device=x.device)
        return x + 0.01 * noise + torch.sin(places)[:, None]


def _created_on_cpu(setting: Setting, *, on_host: bool) -> Training:
    width, length, count = setting.pick(1024, 32), setting.pick(256, 16), setting.pick(32, 4)
    encoder = NoisyEncoder(on_host=on_host)
    model = nn.Sequential(encoder, models.Perceptron(width, width, 6, 16)).to(setting.device)
    inputs = torch.randn(count, length, width, device=setting.device)
    labels = torch.randint(16, (count, length), device=setting.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    step = models.training_step(
        model,
        optimizer,
        lambda: (inputs, labels),
        models.token_loss,
        models.bf16(setting),
    )
    return Training(step, model)


class CompressedImages(Dataset[tuple[torch.Tensor, int]]):
    """Images that are decoded when asked for: inflated, scaled, normalized."""

    def __init__(self, count: int, side: int) -> None:
        self.side = side
        generator = torch.Generator().manual_seed(0)
        self.data = []
        for _ in range(16):
            coarse = torch.rand(1, 3, 12, 12, generator=generator)
            pixels = F.interpolate(coarse, size=_STORED_SIDE, mode="bicubic").clamp(0, 1)
            values = (pixels * 255).to(torch.uint8).flatten().tolist()
            self.data.append(zlib.compress(bytes(values)))
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        raw = bytearray(zlib.decompress(self.data[index % len(self.data)]))
        pixels = torch.frombuffer(raw, dtype=torch.uint8).view(1, 3, _STORED_SIDE, _STORED_SIDE)
        scaled = F.interpolate(pixels.float() / 255, size=self.side, mode="bilinear")[0]
        return (scaled - 0.5) / 0.25, index % 16


def _loader_bound(setting: Setting, *, workers: int) -> Training:
    count, side = setting.pick(64, 4), setting.pick(224, 64)
    loader = DataLoader(
        CompressedImages(setting.pick(200, 8) * count, side),
        batch_size=count,
        num_workers=workers,
        pin_memory=workers > 0 and setting.cuda,
        persistent_workers=workers > 0,
    )
    # Enough work on the device that a dozen workers keep up with it.
    return models.training_on_loader(setting, loader, setting.pick(128, 8))


def _workers(setting: Setting) -> int:
    return int(setting.pick(max(2, min(12, (os.cpu_count() or 2) - 2)), 2))


PAGEABLE_COPY = Scenario(
    "pageable_copy",
    "batches copied from pageable memory while the host waits, against pinned and not waiting",
    (
        Variant(
            "before",
            lambda setting: _pageable_copy(setting, pinned=False),
            (Expected(("h2d-pageable-blocking",)),),
        ),
        Variant("after", lambda setting: _pageable_copy(setting, pinned=True)),
    ),
    stacks=True,
)
CREATED_ON_CPU = Scenario(
    "created_on_cpu",
    "noise and places made on the host and moved, against made on the device",
    (
        Variant(
            "before",
            lambda setting: _created_on_cpu(setting, on_host=True),
            (Expected(("create-on-cpu-then-move",), "0"),),
        ),
        Variant("after", lambda setting: _created_on_cpu(setting, on_host=False)),
    ),
    stacks=True,
    tolerance=2e-2,  # host and device draw different noise, a hundredth of the inputs
)
LOADER_BOUND = Scenario(
    "loader_bound",
    "images decoded in the training process, against several workers",
    (
        Variant(
            "before",
            lambda setting: _loader_bound(setting, workers=0),
            (Expected(("loader-single-process", "loader-wait")),),
        ),
        Variant("after", lambda setting: _loader_bound(setting, workers=_workers(setting))),
    ),
)
