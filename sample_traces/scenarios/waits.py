"""Steps that wait to read a value, against steps that do not."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - its usual name

from sample_traces import models
from sample_traces.scenario import Expected, Scenario, Setting, Training, Variant

_READ_EVERY = 50


class Log:
    """Reads a training's losses from the device every N steps, and checks them."""

    def __init__(self, every: int) -> None:
        self.every = every
        self.values: list[float] = []
        self._waiting: list[torch.Tensor] = []

    def add(self, loss: torch.Tensor) -> None:
        """Take the loss of one step; raises FloatingPointError for one that is not finite."""
        if self.every == 1:
            if not torch.isfinite(loss):
                raise FloatingPointError("the loss is not finite")
            self.values.append(loss.item())
            return
        self._waiting.append(loss)
        if len(self._waiting) == self.every:
            self.flush()

    def flush(self) -> None:
        """Read what is waiting, in one copy."""
        if self._waiting:
            read = torch.stack(self._waiting)
            self._waiting.clear()
            self.values += read.tolist()
            if not all(value - value == 0 for value in self.values):
                raise FloatingPointError("a loss is not finite")


def _item_every_step(setting: Setting, *, every: int) -> Training:
    width, count = setting.pick(1536, 32), setting.pick(256, 4)
    model = models.Perceptron(width, width, setting.pick(24, 3), 16).to(setting.device)
    inputs, labels = models.vectors(setting, count, width, 16)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    log = Log(every)

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs), labels)
        log.add(loss.detach())
        loss.backward()
        optimizer.step()
        return loss.detach()

    return Training(step, model, close=log.flush)


class MaskedLoss(nn.Module):
    """Cross entropy of the places that a mask (batch, length) chooses."""

    def __init__(self, *, indexed: bool) -> None:
        super().__init__()
        self.indexed = indexed

    def forward(
        self, scores: torch.Tensor, targets: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """Return the mean over the chosen places of scores (batch, length, vocabulary)."""
        if self.indexed:
            return F.cross_entropy(scores[mask], targets[mask])
        each = F.cross_entropy(scores.flatten(0, 1), targets.flatten(), reduction="none")
        chosen = torch.where(mask.flatten(), each, 0.0)
        return chosen.sum() / mask.sum()


def _masked_loss(setting: Setting, *, indexed: bool) -> Training:
    vocabulary, width, length = setting.pick(8192, 64), setting.pick(512, 64), setting.pick(256, 16)
    model = models.Gpt(vocabulary, width, setting.pick(6, 2), length).to(setting.device)
    loss_fn = MaskedLoss(indexed=indexed)
    inputs, targets = models.tokens(setting, setting.pick(16, 2), length, vocabulary)
    mask = torch.rand(inputs.shape, device=setting.device) < 0.15
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=setting.cuda)
    autocast = models.bf16(setting)

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        with autocast():
            loss = loss_fn(model(inputs), targets, mask)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return Training(step, model, {"loss": loss_fn})


ITEM_EVERY_STEP = Scenario(
    "item_every_step",
    f"loss read and checked every step, against every {_READ_EVERY} steps",
    (
        Variant(
            "before",
            lambda setting: _item_every_step(setting, every=1),
            (Expected(("sync-bool-branch",)), Expected(("sync-scalar-item",))),
        ),
        Variant("after", lambda setting: _item_every_step(setting, every=_READ_EVERY)),
    ),
    stacks=True,
)
MASKED_LOSS = Scenario(
    "masked_loss",
    "a loss of the places that a mask indexes, against torch.where",
    (
        Variant(
            "before",
            lambda setting: _masked_loss(setting, indexed=True),
            (Expected(("sync-mask-index",), "loss"),),
        ),
        Variant("after", lambda setting: _masked_loss(setting, indexed=False)),
    ),
    stacks=True,
    tolerance=1e-2,  # bf16 scores, summed in another order
)
