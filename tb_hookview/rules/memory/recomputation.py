"""Forwards that run again within the backward pass, as activation checkpointing has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tb_hookview.analysis.modules.tree import Modules
from tb_hookview.analysis.python_functions import node_names, recomputing
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.nesting import lookup, self_time
from tb_hookview.arrays.sums import sum_by
from tb_hookview.arrays.types import ModuleIndex, Nanoseconds
from tb_hookview.formats import format_count
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.schema import module_label

_NOTHING_AGAIN = (
    "Assumes that nothing runs again: memory has to hold what checkpointing frees. Fewer "
    "checkpointed blocks save a part of it."
)
_SHARE = 0.02
"""Part of device work, or of a step on the CPU, from which recomputation counts."""
_NAMED = 3
"""Modules that the evidence names."""
_OWN_SAVED = "Assumes that nothing runs again: memory has to hold what is computed again now."
_OWN = (
    "Save what the backward needs (ctx.save_for_backward) if memory is free: an adjoint or a "
    "reversible layer computes the forward again to save memory."
)
_CAVEAT = (
    "With use_reentrant=False checkpoint also calls Python for each saved tensor, in the forward "
    "and as it is used, and checks its shape and type. That ends with it too. It is inside of the "
    "operators and nodes that save and use them, and not counted: the saving is a lower bound "
    "then, with small blocks two thirds of it."
)


def _on_host(context: Context) -> Iterator[Occurrence]:
    """Yield one occurrence for the forwards that the CPU runs again."""
    tree, again = context.call_tree, context.analysis.attribution.row_recompute
    outermost = again & (lookup(again, tree.parent) == 0)
    outermost &= context.rows.counted
    rows = np.flatnonzero(outermost)
    held = context.steps.us_per_step(tree.duration[rows].sum())
    if not len(rows) or held <= _SHARE * context.steps.duration_us:
        return
    yield _occurrence(
        context,
        context.analysis.attribution.row_module,
        self_time(tree.start, tree.end, tree.parent) * (again & context.rows.counted),
        evidence=f"take the CPU {context.us_text(held)}, {held / context.steps.duration_us:.0%} "
        "of it",
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
        owners.module,
        context.analysis.device_events.duration * work,
        evidence=f"take the devices {context.us_text(wasted)}, "
        f"{context.device_events.share(work):.0%} of device work",
        wasted=np.flatnonzero(work),
        # Compiled code recomputes within one call of the host.
        claims_gain=bool(context.device_events.launched_by(again)[work].all()),
    )


def _occurrence(
    context: Context, module: ModuleIndex, again: Nanoseconds, *, evidence: str, **found: Any
) -> Occurrence:
    """Return the occurrence of what some modules compute again, the part `again` of their time."""
    modules = context.analysis.modules
    time = sum_by(module, again, len(modules))
    rows = np.flatnonzero(time)
    above = _common(modules, rows)
    top = rows[np.argsort(-time[rows], kind="stable")][:_NAMED].tolist()
    named = context.listed((module_label(modules.path[row]), time[row]) for row in top)
    more = f" and {len(rows) - _NAMED} more" if len(rows) > _NAMED else ""
    where = f", in {format_count(len(rows), 'module')}: {named}{more}" if top else ""
    functions = _own_functions(context)
    return Occurrence(
        place=" and ".join(functions) or "the backward pass",
        title="A custom autograd function recomputes the forward" if functions else "",
        fix=_OWN if functions else "",
        module=above,
        everywhere=above is not None and modules.parent[above] < 0,
        evidence=f"forwards that run again in the backward pass {evidence}{where}",
        scale="recomputation",
        caveats=(_OWN_SAVED,) if functions else (_NOTHING_AGAIN, _CAVEAT),
        **found,
    )


def _own_functions(context: Context) -> list[str]:
    """Names of the functions whose backward runs all of it; none where checkpoints do, too."""
    analysis, names = context.analysis, node_names(context.analysis)
    nodes = unique(analysis.row_node[analysis.attribution.row_recompute])
    own = recomputing(analysis)[nodes].all()
    return sorted({names[node] for node in nodes.tolist()}) if own else []


def _common(modules: Modules, rows: ModuleIndex) -> int | None:
    """The module that is, or is above, each of some modules in order; None for none."""
    above = int(rows[0]) if len(rows) else -1
    while above >= 0 and modules.end[above] <= rows[-1]:
        above = int(modules.parent[above])
    return above if above >= 0 else None


RECOMPUTE_OVERHEAD = Rule(
    id="recompute-overhead",
    family="memory",
    title="Activation checkpointing recomputes the forward",
    description="Device events of a module's forward that run within the backward pass, over 2% "
    "of device work; where the model runs on the CPU, the forwards themselves, over "
    "2% of a step.",
    fix="Checkpoint what is cheap to recompute and large to store, not matrix products and "
    "attention. Pass preserve_rng_state=False where nothing is random. Checkpoint fewer blocks if "
    "memory is free.",
    reference="torch.utils.checkpoint documentation",
    find=lambda context: _on_host(context) if context.on_host else _on_devices(context),
)
