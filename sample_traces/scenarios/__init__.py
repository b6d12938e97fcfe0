"""All scenarios, in the order in which they are recorded."""

from __future__ import annotations

from sample_traces.scenario import Scenario
from sample_traces.scenarios import (
    checkpointing,
    data,
    healthy,
    launches,
    optimizer,
    patch_dropout,
    precision,
    sampler,
    waits,
)

SCENARIOS: tuple[Scenario, ...] = (
    patch_dropout.PATCH_DROPOUT,
    data.PAGEABLE_COPY,
    data.CREATED_ON_CPU,
    data.LOADER_BOUND,
    waits.ITEM_EVERY_STEP,
    waits.MASKED_LOSS,
    optimizer.UNFUSED_OPTIMIZER,
    precision.PRECISION,
    checkpointing.CHECKPOINTING,
    healthy.RESNET_REFERENCE,
    healthy.GPT_REFERENCE,
    launches.LAUNCH_BOUND,
    sampler.VARIABLE_SHAPE_SAMPLER,
)
