"""Activation checkpointing: forwards that run again within the backward pass."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.modules.tree import Modules
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
    rows = [module for module in below.tolist() if module >= 0]
    above = _common(modules, rows)
    yield Occurrence(
        place="the backward pass",
        module=above,
        everywhere=above < 0 or modules.parent[above] < 0,
        evidence="forwards that run again in the backward pass take the devices "
        f"{format_us(wasted)} a step, {context.device_events.share(work):.0%} of their busy time, "
        f"in {format_count(len(rows), 'module')}; the saving depends on free memory",
        count=int(work.sum()),
        wasted=np.flatnonzero(work),
        scale="recomputation",
        claims_gain=False,
        examples=context.device_events.starts(work),
    )


def _common(modules: Modules, rows: list[int]) -> int:
    """The module that is, or is above, each of some modules; -1 for none."""
    above = [_path_to(modules, row) for row in rows]
    shared = -1
    for level in zip(*above, strict=False):
        if len(set(level)) > 1:
            break
        shared = level[0]
    return shared


def _path_to(modules: Modules, row: int) -> list[int]:
    """Modules from a root down to a module."""
    found: list[int] = []
    while row >= 0:
        found.append(row)
        row = int(modules.parent[row])
    return found[::-1]


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
