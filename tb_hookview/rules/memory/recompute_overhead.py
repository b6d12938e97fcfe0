"""Activation checkpointing: forwards that run again within the backward pass."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.arrays.joins import unique
from tb_hookview.formats import format_count, format_us
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule

_SHARE = 0.02
"""Part of the devices' busy time from which recomputation counts."""


def _find(context: Context) -> Iterator[Occurrence]:
    owners, modules = context.analysis.device_attribution, context.analysis.modules
    if context.device_events.share(owners.recompute) <= _SHARE:
        return
    work = owners.recompute & context.device_events.counted
    wasted = context.device_events.us_per_step(work)
    below = unique(owners.module[work])
    paths = [modules.path[module] for module in below.tolist() if module >= 0]
    above = _common(paths)
    yield Occurrence(
        place="the backward pass",
        module=above,
        everywhere=not above,
        evidence="forwards that run again in the backward pass take the devices "
        f"{format_us(wasted)} a step, {context.device_events.share(work):.0%} of their busy time, "
        f"in {format_count(len(paths), 'module')}; the saving depends on free memory",
        count=int(work.sum()),
        wasted=np.flatnonzero(work),
        claims_gain=False,
        examples=context.device_events.starts(work),
    )


def _common(paths: list[str]) -> str:
    """Path of the module above all of some modules, "" for the root."""
    parts = [path.split(".") for path in paths]
    shared = []
    for names in zip(*parts, strict=False):
        if len(set(names)) > 1:
            break
        shared.append(names[0])
    return ".".join(shared)


RULE = Rule(
    id="recompute-overhead",
    family="memory",
    title="Activation checkpointing recomputes the forward",
    description="Device events of a module's forward that run within the backward pass, over 2 % "
    "of the devices' busy time.",
    fix="Checkpoint what is cheap to recompute and large to store, not matrix products and "
    "attention. Pass preserve_rng_state=False where nothing is random. Checkpoint fewer blocks if "
    "memory is free.",
    reference="torch.utils.checkpoint documentation",
    find=_find,
)
