"""A transformer whose head shares the weight of its embedding, against weights of its own."""

from __future__ import annotations

import torch

from sample_traces import models
from sample_traces.scenario import Scenario, Setting, Training, Variant


def _build(setting: Setting, *, tied: bool) -> Training:
    vocabulary, length = setting.pick(16384, 512), setting.pick(512, 32)
    model = models.Gpt(vocabulary, setting.pick(1024, 64), setting.pick(8, 2), length)
    if tied:
        model.head.weight = model.embed.weight
    model.to(setting.device)
    batch = models.tokens(setting, setting.pick(8, 4), length, vocabulary)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    step = models.training_step(
        model, optimizer, lambda: batch, models.token_loss, models.bf16(setting)
    )
    return Training(step, model)


TIED_WEIGHTS = Scenario(
    "tied_weights",
    "a head that shares the weight of the embedding, against a weight of its own",
    (
        Variant("tied", lambda setting: _build(setting, tied=True)),
        Variant("apart", lambda setting: _build(setting, tied=False)),
    ),
    tolerance=None,  # they are different models
    on_cpu="The gradient of the shared weight is accumulated once, in the backward of `embed`, "
    "which owns it; `head` only multiplies. Apart, each accumulates its own.",
)
