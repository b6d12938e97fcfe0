"""A model that runs operator by operator, the same in every step."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from tb_hookview.arrays.joins import dense_rank, unique
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule

_COMPILED = re.compile(
    r"Torch-Compiled Region|## Call CompiledFxGraph|CompiledFunction|triton_(poi|red|per|tem)_"
    r"|(cuda|hip)GraphLaunch"
)
_REASONS = ("tiny-kernels-launch-bound", "pointwise-unfused")
"""Rules of which one has to hold."""
_SYNCS = 2
"""A step: what syncs more often has to be changed first."""


def _find(context: Context) -> Iterator[Occurrence]:
    syncs = int(np.count_nonzero(context.syncs.counted))
    if context.any_name(_is_compiled) or syncs > _SYNCS * len(context.steps) or not _alike(context):
        return
    reasons = [rule for rule in context.rules if rule.id in _REASONS]
    found = [rule.id for rule in reasons if context.found(rule)]
    if not found:
        return
    yield Occurrence(
        place="the model",
        everywhere=True,
        evidence=f"no compiled region and no CUDA graph; {' and '.join(found)} holds; "
        f"{syncs / len(context.steps):.1f} syncs{context.each}"
        + (", the same kernels in every step" if len(context.steps) > 1 else ""),
        count=len(context.steps),
        claims_gain=False,
        latent="its cost is that of the findings it names",
    )


def _is_compiled(name: str) -> bool:
    return _COMPILED.match(name) is not None


def _alike(context: Context) -> bool:
    """Whether the same kernels run, equally often, in every measured step."""
    work, events = context.analysis.device_events, context.analysis.trace.events
    rows = np.flatnonzero(context.device_events.counted & (work.launch >= 0))
    step = context.analysis.steps.at(context.call_tree.start[work.launch[rows]])
    name = events.name[work.event[rows]].astype(np.int64)
    pair = dense_rank(step, name)
    times = np.bincount(pair)
    names = np.empty(len(times), np.int64)
    names[pair] = name
    alike = dense_rank(times, names)
    return bool(
        len(unique(names)) == len(unique(alike))
        and len(names) == len(unique(names)) * len(context.steps)
    )


RULE = Rule(
    id="eager-compile-candidate",
    family="compile",
    title="The model is not compiled and may gain from torch.compile",
    description="No compiled region, Triton kernel or CUDA graph in the trace; pointwise-unfused "
    "or tiny-kernels-launch-bound holds; at most two syncs per step; the same kernels, equally "
    "often, in every step.",
    fix="Try torch.compile on the model or on the functions that take the time. Leave the first "
    "steps out of the measurement: they compile. Remove shapes that depend on data first.",
    reference="PyTorch, Introduction to torch.compile",
    confidence="medium",
    find=_find,
)
