"""Graph breaks between compiled regions, and compilation after the first step."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.types import Bool, TreeRow
from tb_hookview.formats import format_count, format_us
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule

_COMPILING = (
    r"compile_inner|\(dynamo_timed\)",
    r"^(_?compile_fx\b|OutputGraph\.call_user_compiler|create_aot_dispatcher_function"
    r"|async_compile\.wait|CachingAutotuner\.benchmark)",
)


_REGION = re.compile(r"Torch-Compiled Region: (\d+)/(\d+)")
_LOOKUP = "TorchDynamo Cache Lookup"
_SHARE = 0.01
"""Part of a step from which guards are reported."""
_REGIONS = 3
"""Regions of different graphs in one step, from which there are breaks between them."""
_SEPARATE = ("Functions that are compiled separately look the same.",)


def _find(context: Context) -> Iterator[Occurrence]:
    yield from _compiling(context)
    yield from _guards(context)
    yield from _breaks(context)


def _guards(context: Context) -> Iterator[Occurrence]:
    """Time spent on tests of guards."""
    rows = np.flatnonzero(context.rows.named(_LOOKUP) & context.rows.counted)
    spans = intervals.of(context.call_tree.start[rows], context.call_tree.end[rows])
    time = context.steps.us_per_step(intervals.length(spans))
    gaps = context.gaps.within(spans, Cause.LAUNCH)
    if time > _SHARE * context.steps.duration_us > 0:
        yield Occurrence(
            place="guards",
            everywhere=True,
            evidence=f"{format_count(len(rows), 'time')} the guards of compiled code are tested, "
            f"{format_us(time)} a step of the host",
            count=len(rows),
            gaps=gaps,
            examples=context.call_tree.start[rows],
            latent="the devices had work meanwhile",
        )


def _breaks(context: Context) -> Iterator[Occurrence]:
    """Compiled regions of different graphs, or several variants of one, in the same steps."""
    rows = np.flatnonzero(context.rows.matching(_REGION.pattern) & context.rows.counted)
    texts = context.analysis.trace.strings
    found = [_REGION.search(texts[name]) for name in unique(context.host.string[rows]).tolist()]
    regions = {(each[1], each[2]) for each in found if each}
    graphs = {graph for graph, _ in regions}
    if len(graphs) < _REGIONS and len(regions) == len(graphs):
        return
    order = rows[np.lexsort((context.call_tree.start[rows], context.call_tree.thread[rows]))]
    thread, end = context.call_tree.thread[order], context.call_tree.end[order]
    same = (thread[1:] == thread[:-1]) & (context.call_tree.start[order][1:] > end[:-1])
    same &= context.host.string[order][1:] != context.host.string[order][:-1]
    same &= _in_one_step(context, order)
    between = np.stack([end[:-1][same], context.call_tree.start[order][1:][same]], axis=1)
    syncs = np.count_nonzero(
        intervals.lengths_within(intervals.of(context.syncs.start, context.syncs.end), between)
    )
    time = (between[:, 1] - between[:, 0]).sum()
    yield Occurrence(
        place="compiled regions",
        everywhere=True,
        evidence=f"{format_count(len(rows), 'call')} of compiled regions, of "
        f"{format_count(len(graphs), 'graph')} in {format_count(len(regions), 'variant')}; between "
        f"them the host spends {format_us(context.steps.us_per_step(time))} a step and syncs "
        f"{format_count(int(syncs), 'time')}",
        count=len(rows),
        gaps=context.gaps.within(intervals.normal(between), Cause.LAUNCH),
        examples=context.call_tree.start[rows],
        confidence="low",
        caveats=_SEPARATE,
        latent="every break is a call back into Python, and nothing is fused across it",
    )


def _in_one_step(context: Context, order: TreeRow) -> Bool:
    step = context.analysis.steps.at(context.call_tree.start[order])
    return np.asarray(step[1:] == step[:-1])


def _compiling(context: Context) -> Iterator[Occurrence]:
    if not context.steps.marked:
        return
    compiling = context.rows.matching(_COMPILING[0]) | context.rows.matching(_COMPILING[1])
    if not compiling.any():
        return
    outermost = compiling & context.rows.counted & ~_below(context, compiling)
    rows = np.flatnonzero(outermost)
    if not len(rows):
        return
    spans = intervals.of(context.call_tree.start[rows], context.call_tree.end[rows])
    time = context.call_tree.duration[rows].sum()
    yield Occurrence(
        place="torch.compile",
        everywhere=True,
        evidence=f"{format_count(len(rows), 'time')} something is compiled after the first step of "
        f"the trace, {format_us(context.steps.us_per_step(time))} a step of the host",
        count=len(rows),
        gaps=context.gaps.within(spans, Cause.LAUNCH),
        examples=context.call_tree.start[rows],
        latent="the devices had work meanwhile",
    )


def _below(context: Context, wanted: Bool) -> Bool:
    """Rows that lie in a wanted row, themselves not counted."""
    parent = context.call_tree.parent
    inside = context.rows.inside(wanted)
    return np.asarray((parent >= 0) & inside[parent])


RULE = Rule(
    id="recompile-graph-break",
    family="compile",
    title="Graph break or recompilation",
    description="Spans of torch.compile (compile_inner, dynamo_timed, autotuning) after the first "
    "step of a trace that marks steps; tests of guards (TorchDynamo Cache Lookup) in 1 % of a step "
    "or more; three or more graphs of compiled regions (Torch-Compiled Region: graph/variant), or "
    "two variants of one, in the steps that count.",
    fix="Run with TORCH_LOGS=recompiles,graph_breaks to see the reasons. Pad or bucket shapes, or "
    "mark sizes by torch._dynamo.mark_dynamic; remove item(), print and branches on tensors; test "
    "with fullgraph=True.",
    reference="PyTorch, Profiling to understand torch.compile performance",
    confidence="medium",
    find=_find,
)
