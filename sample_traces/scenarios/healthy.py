"""Steps with nothing wrong in them: no finding of high confidence may fire."""

from __future__ import annotations

import torch
from torch import nn

from sample_traces import libraries, models
from sample_traces.scenario import Scenario, Setting, Training, Variant, endless


class Normalize(nn.Module):
    """Converts bytes (batch, 3, side, side) to numbers, on the device."""

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        """Return floats of the same shape, channels last."""
        return pixels.to(torch.bfloat16, memory_format=torch.channels_last) / 128 - 1


def _resnet(setting: Setting) -> Training:
    resnet = libraries.load("torchvision").models.resnet50(num_classes=16)
    model = nn.Sequential(Normalize(), resnet).to(setting.device)
    model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    count, side = setting.pick(256, 2), setting.pick(224, 64)
    batches = [
        (torch.randint(256, (count, 3, side, side), dtype=torch.uint8), torch.randint(16, (count,)))
        for _ in range(2)
    ]
    if setting.cuda:
        batches = [(pixels.pin_memory(), labels.pin_memory()) for pixels, labels in batches]
    ready = endless(batches)

    def batch() -> tuple[torch.Tensor, torch.Tensor]:
        pixels, labels = next(ready)
        return (
            pixels.to(setting.device, non_blocking=True),
            labels.to(setting.device, non_blocking=True),
        )

    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, fused=True)
    step = models.training_step(model, optimizer, batch, autocast=models.bf16(setting))
    return Training(step, model)


def _gpt(setting: Setting) -> Training:
    vocabulary, length = setting.pick(16384, 64), setting.pick(1024, 16)
    model = models.Gpt(vocabulary, setting.pick(2048, 64), setting.pick(8, 2), length)
    model.to(setting.device)
    batch = models.tokens(setting, setting.pick(8, 2), length, vocabulary)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    step = models.training_step(
        model, optimizer, lambda: batch, models.token_loss, models.bf16(setting)
    )
    return Training(step, model)


RESNET_REFERENCE = Scenario(
    "resnet_reference",
    "torchvision's resnet50: bf16, channels last, bytes from pinned memory, fused SGD",
    (Variant("healthy", _resnet),),
    needs=("torchvision",),
    on_cpu="Where the time of a convolutional net goes: 153 modules, the backward of each by the "
    "nodes of autograd.",
    healthy=True,
)
GPT_REFERENCE = Scenario(
    "gpt_reference",
    "a transformer of width 2048: bf16, fused attention, fused AdamW",
    (Variant("healthy", _gpt),),
    healthy=True,
)
