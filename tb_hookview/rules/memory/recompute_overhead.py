"""Activation checkpointing: forwards that run again within the backward pass."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.arrays.joins import unique
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule

_SHARE = 0.02
"""Part of the devices' busy time from which on recomputation counts."""


def _match(context: Context) -> Iterator[Occurrence]:
    owners, modules = context.analysis.device_attribution, context.analysis.modules
    if context.device_share(owners.recompute) <= _SHARE:
        return
    work = owners.recompute & context.work
    wasted = context.device_us(work)
    below = unique(owners.module[work])
    paths = [modules.path[module] for module in below.tolist() if module >= 0]
    above = _common(paths)
    yield Occurrence(
        place="the backward pass",
        module=above,
        everywhere=not above,
        evidence=f"forwards that run again in the backward pass take the devices {wasted:.1f} us a "
        f"step, {context.device_share(work):.0%} of their busy time, in {len(paths)} modules; what "
        "of it can go depends on the memory that is free",
        count=int(work.sum()),
        wasted=np.flatnonzero(work),
        claims_gain=False,
        examples=context.work_starts(work),
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
    title="Checkpointed forwards are computed again",
    matches="Device work of a module's forward that runs within the backward pass, over 2 % of the "
    "devices' busy time.",
    fix="Checkpoint what is cheap to compute again and large to keep, not matrix products and "
    "attention. Pass preserve_rng_state=False where nothing is random. Checkpoint fewer blocks if "
    "memory is free.",
    reference="torch.utils.checkpoint documentation",
    match=_match,
)
