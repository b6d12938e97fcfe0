"""All scenarios, in the order in which they are recorded."""

from __future__ import annotations

from sample_traces.scenario import Scenario
from sample_traces.scenarios import (
    checkpointing,
    compiled,
    data,
    healthy,
    late_rank,
    launches,
    lightning,
    memory,
    on_host,
    optimizer,
    patch_dropout,
    precision,
    sampler,
    storage,
    tied_weights,
    waits,
)

SCENARIOS: tuple[Scenario, ...] = (
    patch_dropout.PATCH_DROPOUT,
    data.PAGEABLE_COPY,
    data.CREATED_ON_CPU,
    data.LOADER_BOUND,
    storage.SLOW_STORAGE,
    storage.TOO_FEW_WORKERS,
    waits.ITEM_EVERY_STEP,
    waits.MASKED_LOSS,
    optimizer.UNFUSED_OPTIMIZER,
    precision.PRECISION,
    checkpointing.CHECKPOINTING,
    memory.MEMORY_GROWTH,
    tied_weights.TIED_WEIGHTS,
    healthy.RESNET_REFERENCE,
    healthy.GPT_REFERENCE,
    launches.LAUNCH_BOUND,
    compiled.COMPILED,
    compiled.RECOMPILED,
    late_rank.LATE_RANK,
    lightning.LIGHTNING,
    *on_host.SCENARIOS,
    sampler.VARIABLE_SHAPE_SAMPLER,
)
