"""A transformer whose blocks are computed twice, reentrantly or not, against computed once."""

from __future__ import annotations

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from sample_traces import models
from sample_traces.scenario import Expected, Scenario, Setting, Training, Variant


class CheckpointedGpt(models.Gpt):
    """A Gpt that recomputes its blocks in the backward pass."""

    reentrant = False

    def run(self, block: nn.Module, x: torch.Tensor) -> torch.Tensor:
        """Run one block, keeping its input only."""
        result: torch.Tensor = checkpoint(block, x, use_reentrant=self.reentrant)
        return result


class ReentrantGpt(CheckpointedGpt):
    """The same by a backward within the backward."""

    reentrant = True


def _build(setting: Setting, kind: type[models.Gpt]) -> Training:
    vocabulary, length = setting.pick(8192, 64), setting.pick(512, 16)
    model = kind(vocabulary, setting.pick(1024, 64), setting.pick(8, 2), length)
    model.to(setting.device)
    batch = models.tokens(setting, setting.pick(16, 2), length, vocabulary)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=setting.cuda)
    step = models.training_step(
        model, optimizer, lambda: batch, models.token_loss, models.bf16(setting)
    )
    return Training(step, model)


_RECOMPUTED = (Expected(("recompute-overhead",), needs_device=False),)
CHECKPOINTING = Scenario(
    "checkpointing",
    "a transformer with every block checkpointed, both ways, against none",
    (
        Variant("reentrant", lambda setting: _build(setting, ReentrantGpt), _RECOMPUTED),
        Variant("non_reentrant", lambda setting: _build(setting, CheckpointedGpt), _RECOMPUTED),
        Variant("none", lambda setting: _build(setting, models.Gpt)),
    ),
    tolerance=1e-2,
    profile_memory=True,
    on_cpu="Each block has times of its forward, its backward, and of the forward that runs again "
    "within the backward (`recompute`). The memory view shows what that saves.",
)
