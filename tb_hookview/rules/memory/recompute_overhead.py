"""Activation checkpointing: forwards that run again within the backward pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tb_hookview.analysis.modules.tree import Modules
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import ModuleIndex
from tb_hookview.formats import format_count
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule

_SHARE = 0.02
"""Part of the devices' busy time, or of a step on the CPU, from which recomputation counts."""
_CAVEAT = (
    "What checkpoint itself does in Python, in the forward and for each saved tensor, ends with it "
    "too and is not counted: with small blocks and use_reentrant=False half as much again."
)

_NOTHING_AGAIN = (
    "Assumes that nothing runs again: memory has to hold what checkpointing frees. Fewer "
    "checkpointed blocks save a part of it."
)


def _find(context: Context) -> Iterator[Occurrence]:
    return _on_host(context) if context.on_host else _on_devices(context)


def _on_host(context: Context) -> Iterator[Occurrence]:
    """Yield one occurrence for the forwards that the CPU runs again."""
    tree, again = context.call_tree, context.analysis.attribution.row_recompute
    outermost = again & (lookup(again.astype(np.int64), tree.parent) == 0)
    outermost &= context.rows.counted
    rows = np.flatnonzero(outermost)
    held = context.steps.us_per_step(tree.duration[rows].sum())
    if not len(rows) or held <= _SHARE * context.steps.duration_us:
        return
    yield _occurrence(
        context,
        context.analysis.attribution.row_module[again & context.rows.counted],
        evidence=f"take the CPU {context.us_text(held)}, {held / context.steps.duration_us:.0%} "
        "of it",
        count=len(rows),
        host=context.rows.host_time(outermost),
        examples=tree.start[rows],
    )


def _on_devices(context: Context) -> Iterator[Occurrence]:
    owners = context.analysis.device_attribution
    again = context.analysis.attribution.row_recompute
    if context.device_events.share(owners.recompute) <= _SHARE:
        return
    work = owners.recompute & context.device_events.counted
    wasted = context.device_events.us_per_step(work)
    yield _occurrence(
        context,
        owners.module[work],
        evidence=f"take the devices {context.us_text(wasted)}, "
        f"{context.device_events.share(work):.0%} of their busy time",
        count=int(work.sum()),
        wasted=np.flatnonzero(work),
        examples=context.device_events.starts(work),
        # Compiled code recomputes within one call of the host.
        claims_gain=bool(context.device_events.launched_by(again)[work].all()),
    )


def _occurrence(
    context: Context, module: ModuleIndex, *, evidence: str, **found: Any
) -> Occurrence:
    """Return the occurrence of what some modules compute again."""
    modules = context.analysis.modules
    rows = [each for each in unique(module).tolist() if each >= 0]
    above = _common(modules, rows)
    return Occurrence(
        place="the backward pass",
        module=above,
        everywhere=above < 0 or modules.parent[above] < 0,
        evidence=f"forwards that run again in the backward pass {evidence}, "
        f"in {format_count(len(rows), 'module')}",
        scale="recomputation",
        caveats=(_NOTHING_AGAIN, _CAVEAT),
        **found,
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
    description="Device events of a module's forward that run within the backward pass, over 2% "
    "of the devices' busy time; where the model runs on the CPU, the forwards themselves, over "
    "2% of a step.",
    fix="Checkpoint what is cheap to recompute and large to store, not matrix products and "
    "attention. Pass preserve_rng_state=False where nothing is random. Checkpoint fewer blocks if "
    "memory is free.",
    reference="torch.utils.checkpoint documentation",
    find=_find,
)
