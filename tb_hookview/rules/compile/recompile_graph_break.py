"""The step compiles, although it has run before."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.types import Bool, Int
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule, counted

_COMPILING = (
    r"compile_inner|\(dynamo_timed\)",
    r"^(_?compile_fx\b|OutputGraph\.call_user_compiler|create_aot_dispatcher_function"
    r"|async_compile\.wait|CachingAutotuner\.benchmark)",
)


_REGION = re.compile(r"Torch-Compiled Region: (\d+)/(\d+)")
_LOOKUP = "TorchDynamo Cache Lookup"
_SHARE = 0.01
"""Of a step, from which on guards are told of."""
_REGIONS = 3
"""Regions of different code in one step, from which on there are breaks between them."""
_CODES = ("Several functions that are compiled each by itself look the same.",)


def _match(context: Context) -> Iterator[Occurrence]:
    yield from _compiling(context)
    yield from _guards(context)
    yield from _breaks(context)


def _guards(context: Context) -> Iterator[Occurrence]:
    """Time spent on finding out which compiled code fits."""
    rows = np.flatnonzero(context.named(_LOOKUP) & context.rows)
    spans = intervals.of(context.call_tree.start[rows], context.call_tree.end[rows])
    time = context.per_step(intervals.length(spans))
    gaps = context.gaps_within(spans, Cause.LAUNCH)
    if time > _SHARE * context.step_us > 0:
        yield Occurrence(
            place="guards",
            everywhere=True,
            evidence=f"{counted(len(rows), 'time')} the guards of compiled code are tested, "
            f"{time:.1f} us a step of the host",
            count=len(rows),
            gaps=gaps,
            examples=context.call_tree.start[rows],
            latent="the devices had work meanwhile",
        )


def _breaks(context: Context) -> Iterator[Occurrence]:
    """Compiled regions of different code, or several variants of one, in the same steps."""
    rows = np.flatnonzero(context.matching(_REGION.pattern) & context.rows)
    texts = context.analysis.trace.strings
    found = [_REGION.search(texts[name]) for name in unique(context.host.string[rows]).tolist()]
    regions = {(each[1], each[2]) for each in found if each}
    codes = {code for code, _ in regions}
    if len(codes) < _REGIONS and len(regions) == len(codes):
        return
    order = rows[np.lexsort((context.call_tree.start[rows], context.call_tree.thread[rows]))]
    thread, end = context.call_tree.thread[order], context.call_tree.end[order]
    same = (thread[1:] == thread[:-1]) & (context.call_tree.start[order][1:] > end[:-1])
    same &= context.host.string[order][1:] != context.host.string[order][:-1]
    same &= _in_one_step(context, order)
    between = np.stack([end[:-1][same], context.call_tree.start[order][1:][same]], axis=1)
    waits = np.count_nonzero(
        intervals.lengths_within(intervals.of(context.waits.start, context.waits.end), between)
    )
    yield Occurrence(
        place="compiled regions",
        everywhere=True,
        evidence=f"{len(rows)} calls of compiled regions, of {len(codes)} codes in {len(regions)} "
        f"variants; between them the host spends "
        f"{context.per_step((between[:, 1] - between[:, 0]).sum()):.1f} us a step and waits "
        f"{counted(int(waits), 'time')}",
        count=len(rows),
        gaps=context.gaps_within(intervals.normal(between), Cause.LAUNCH),
        examples=context.call_tree.start[rows],
        confidence="low",
        caveats=_CODES,
        latent="every break is a call back into Python, and nothing is fused across it",
    )


def _in_one_step(context: Context, order: Int) -> Bool:
    step = context.analysis.steps.at(context.call_tree.start[order])
    return np.asarray(step[1:] == step[:-1])


def _compiling(context: Context) -> Iterator[Occurrence]:
    if not context.has_steps:
        return
    compiling = context.matching(_COMPILING[0]) | context.matching(_COMPILING[1])
    if not compiling.any():
        return
    outermost = compiling & context.rows & ~_below(context, compiling)
    rows = np.flatnonzero(outermost)
    if not len(rows):
        return
    spans = intervals.of(context.call_tree.start[rows], context.call_tree.end[rows])
    yield Occurrence(
        place="torch.compile",
        everywhere=True,
        evidence=f"{counted(len(rows), 'time')} something is compiled after the first step of "
        f"the trace, {context.per_step(context.call_tree.duration[rows].sum()):.1f} us a step of "
        "the host",
        count=len(rows),
        gaps=context.gaps_within(spans, Cause.LAUNCH),
        examples=context.call_tree.start[rows],
        latent="the devices had work meanwhile",
    )


def _below(context: Context, wanted: Bool) -> Bool:
    """Rows that lie in a wanted row, themselves not counted."""
    parent = context.call_tree.parent
    inside = context.inside(wanted)
    return np.asarray((parent >= 0) & inside[parent])


RULE = Rule(
    id="recompile-graph-break",
    family="compile",
    title="Compiled code breaks off, or is compiled again in the middle of training",
    matches="Spans of torch.compile at work (compile_inner, dynamo_timed, autotuning) after the "
    "first step of a trace that marks steps; tests of guards (TorchDynamo Cache Lookup) in 1 % of "
    "a step or more; three and more codes of compiled regions (Torch-Compiled Region: "
    "code/variant), or two variants of one, in the steps that count.",
    fix="Run with TORCH_LOGS=recompiles,graph_breaks to learn why. Pad or bucket shapes, or mark "
    "sizes by torch._dynamo.mark_dynamic; remove item(), print and branches on tensors; test with "
    "fullgraph=True.",
    reference="PyTorch, Profiling to understand torch.compile performance",
    confidence="medium",
    match=_match,
)
