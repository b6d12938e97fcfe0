"""Features kept of every step, or only their mean."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - its usual name

from sample_traces import models
from sample_traces.scenario import Expected, Scenario, Setting, Training, Variant


class Classifier(nn.Module):
    """Vectors (batch, width) to features of the same shape, and to scores of 16 classes."""

    def __init__(self, width: int, depth: int) -> None:
        super().__init__()
        self.body = models.Perceptron(width, width, depth, width)
        self.head = nn.Linear(width, 16)

    def forward(self, inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return scores and features."""
        features = self.body(inputs)
        return self.head(features), features


def _build(setting: Setting, *, whole: bool) -> Training:
    width, count = setting.pick(2048, 256), setting.pick(512, 64)
    model = Classifier(width, 8).to(setting.device)
    inputs, labels = models.vectors(setting, count, width, 16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    log: list[torch.Tensor] = []

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        scores, features = model(inputs)
        loss = F.cross_entropy(scores, labels)
        log.append(features if whole else features.detach().mean())
        loss.backward()
        optimizer.step()
        return loss.detach()

    return Training(step, model, close=log.clear)


MEMORY_GROWTH = Scenario(
    "memory_growth",
    "features of every step kept in a list, against their mean",
    (
        Variant(
            "whole",
            lambda setting: _build(setting, whole=True),
            (Expected(("memory-growth",), "body.18", needs_device=False),),
        ),
        Variant("mean", lambda setting: _build(setting, whole=False)),
    ),
    profile_memory=True,
    on_cpu="The memory view has parameters, gradients, AdamW's state and activations by module, "
    "and the step's peak. In the first variant the least in use grows by 64 KiB a step.",
)
