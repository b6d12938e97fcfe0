"""Adam one parameter at a time, in lists of parameters, and in one kernel."""

from __future__ import annotations

from typing import Any

import torch

from sample_traces import models
from sample_traces.scenario import Expected, Scenario, Setting, Training, Variant


def _build(setting: Setting, **options: Any) -> Training:
    vocabulary, length = setting.pick(4096, 64), setting.pick(128, 16)
    model = models.Gpt(vocabulary, setting.pick(512, 64), setting.pick(12, 2), length)
    model.to(setting.device)
    batch = models.tokens(setting, setting.pick(8, 2), length, vocabulary)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, **options)
    step = models.training_step(
        model, optimizer, lambda: batch, models.token_loss, models.bf16(setting)
    )
    return Training(step, model)


_SINGLE = Expected(("optimizer-single-tensor",), needs_device=False)

UNFUSED_OPTIMIZER = Scenario(
    "unfused_optimizer",
    "AdamW one parameter at a time, against foreach and fused",
    (
        Variant(
            "for_loop",
            lambda setting: _build(setting, foreach=False),
            (_SINGLE,),
        ),
        # On the CPU operators on lists loop over them; on a GPU a report may advise the fused form.
        Variant(
            "foreach",
            lambda setting: _build(setting, foreach=True),
            () if torch.cuda.is_available() else (_SINGLE,),
            partly=True,
        ),
        Variant("fused", lambda setting: _build(setting, fused=True)),
    ),
    tolerance=1e-2,
    on_cpu="The same update by some 900 operators on single tensors, by operators on lists (which "
    "on the CPU loop over them), and by one fused operator: compare `Optimizer.step` of "
    "the reports.",
)
