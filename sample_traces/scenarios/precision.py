"""A convolutional net in fp32, TF32, bf16, and bf16 with channels last."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import torch
from torch import nn

from sample_traces import models
from sample_traces.scenario import Expected, Scenario, Setting, Training, Variant


@contextmanager
def _tf32(*, allowed: bool) -> Iterator[None]:
    switches = (torch.backends.cudnn, torch.backends.cuda.matmul)
    before = [switch.allow_tf32 for switch in switches]
    for switch in switches:
        switch.allow_tf32 = allowed
    try:
        yield
    finally:
        for switch, value in zip(switches, before, strict=True):
            switch.allow_tf32 = value


class ConvPerceptron(nn.Module):
    """Convolutions, and linear layers wide enough to count."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.features = models.ConvNet(width, classes=hidden)
        self.classifier = models.Perceptron(hidden, hidden, 2, 16)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return scores (batch, 16)."""
        scores: torch.Tensor = self.classifier(self.features(images))
        return scores


def _build(setting: Setting, *, half: bool = False, channels_last: bool = False) -> Training:
    model = ConvPerceptron(setting.pick(64, 8), setting.pick(4096, 32)).to(setting.device)
    pixels, labels = models.images(setting, setting.pick(128, 4), setting.pick(128, 32), 16)
    if channels_last:
        model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        pixels = pixels.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    autocast = models.bf16(setting) if half else nullcontext
    step = models.training_step(model, optimizer, lambda: (pixels, labels), autocast=autocast)
    return Training(step, model)


PRECISION = Scenario(
    "precision",
    "a convolutional net in fp32, against TF32, bf16, and bf16 with channels last",
    (
        Variant(
            "fp32",
            _build,
            (Expected(("tf32-disabled", "tensor-cores-unused")),),
            conditions=lambda _: _tf32(allowed=False),
        ),
        Variant("tf32", _build, conditions=lambda _: _tf32(allowed=True)),
        Variant("bf16", lambda setting: _build(setting, half=True)),
        Variant(
            "bf16_channels_last", lambda setting: _build(setting, half=True, channels_last=True)
        ),
    ),
    tolerance=3e-2,  # eight bits of mantissa
    seconds=60,
)
