"""Compilation: after the first step, or anywhere in a trace without steps; regions in variants."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import union, unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, TreeRow
from tb_hookview.formats import format_count, format_us
from tb_hookview.rules.engine.by_place import UNKNOWN
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.host import REGION, regions

_ID = re.compile(r"compile_id=(\d+)/(\d+)")
_LISTED = 3
_VARIANTS = 2 * _LISTED
_SHARE = 0.01
"""Part of a trace without steps from which on its compilation counts."""
_MOST = 0.5
"""Part from which on the rest of it is first calls of what was compiled."""
_SETTLE = (
    "TORCH_LOGS=recompiles names the guard that failed. A size: pad or bucket shapes, or mark it "
    "by torch._dynamo.mark_dynamic. A Python number: pass it as a tensor. requires_grad: leave it, "
    "as it makes two variants and no more (of equal blocks the first takes data, which needs no "
    "gradient). Run every variant once before the loop."
)
_WARM_UP = (
    "Warm up before recording: call what is compiled once with every shape, and leave these calls "
    "out of the trace (torch.profiler.schedule with wait and warmup) and out of comparisons. What "
    "later calls compile again has a reason: TORCH_LOGS=recompiles names the guard that failed."
)
_ONCE = "Each variant is compiled once: calls after the warm-up do not spend this time again."


def _explains(context: Context) -> Bool:
    """Syncs of the compiler: as it reads constants, loads kernels and times them."""
    inside = context.rows.inside(context.analysis.compiling)
    return np.asarray(lookup(inside, context.syncs.row) == 1)


def _find(context: Context) -> Iterator[Occurrence]:
    counted = context.analysis.compiling & context.rows.counted
    rows = np.flatnonzero(
        counted & (context.call_tree.nearest_above(context.analysis.compiling) < 0)
    )
    compiles = _in_steps if context.steps.marked else _once
    yield from (list(compiles(context, rows, counted)) if len(rows) else ()) or _variants(context)


def _in_steps(context: Context, rows: TreeRow, counted: Bool) -> Iterator[Occurrence]:
    """Time spent on compiling in measured steps."""
    syncs = np.flatnonzero(context.explained_by(RECOMPILATION) & context.syncs.counted)
    idle = context.gaps.within(context.call_tree.time_of(rows), Cause.LAUNCH)
    time = context.steps.us_per_step(context.call_tree.duration[rows].sum())
    yield Occurrence(
        title="Code is compiled during the steps",
        place="torch.compile",
        evidence=f"{format_count(len(rows), 'time')} something is compiled after the first step of "
        f"the trace, {format_us(time)} of host time{context.each}{_ids(context, counted)}",
        syncs=syncs,
        gaps=union(idle, context.gaps.of_syncs(syncs)),
        host=context.rows.host_time(counted) if context.on_host else (),
        examples=context.call_tree.start[rows],
        latent=_latent(context),
    )


def _once(context: Context, rows: TreeRow, counted: Bool) -> Iterator[Occurrence]:
    """The compilation in a trace that marks no steps, which may be that of first calls."""
    time = context.steps.us_per_step(intervals.length(context.analysis.compile_time))
    if time <= _SHARE * context.steps.duration_us:
        return
    syncs = np.flatnonzero(context.explained_by(RECOMPILATION) & context.syncs.counted)
    yield Occurrence(
        title="Code is compiled in this trace",
        place="torch.compile",
        evidence=f"{format_us(time)} of host time, {time / context.steps.duration_us:.0%} of the "
        f"trace, goes into compilation, in {format_count(len(rows), 'span')}"
        f"{_ids(context, counted)}",
        syncs=syncs,
        gaps=union(context.gaps.of_first_compilation(), context.gaps.of_syncs(syncs)),
        host=context.rows.host_time(counted) if context.on_host else (),
        once_us=time,
        dominates=time > _MOST * context.steps.duration_us,
        claims_gain=False,
        examples=context.call_tree.start[rows],
        caveats=(_ONCE,),
        latent=_latent(context),
        fix=_WARM_UP,
    )


def _latent(context: Context) -> str:
    return "the devices had work meanwhile" if context.device_events.devices else UNKNOWN


def _ids(context: Context, compiling: Bool) -> str:
    """Phrase of what is compiled, the first time or again; "" where the trace has no ids."""
    around = context.rows.inside(compiling) | context.rows.beginning("dynamo_data: ")
    named = np.flatnonzero(around & context.rows.counted & context.rows.containing("compile_id="))
    texts = context.analysis.trace.strings
    names = [_ID.search(texts[name]) for name in unique(context.host.string[named]).tolist()]
    ids = sorted({(int(each[1]), int(each[2])) for each in names if each})
    listed = [
        f"graph {graph} for the first time"
        if not variant
        else f"graph {graph} again, as {graph}/{variant}"
        for graph, variant in ids[:_LISTED]
    ]
    if len(ids) > _LISTED:
        listed.append("and others")
    return ": " + ", ".join(listed) if listed else ""


def _variants(context: Context) -> Iterator[Occurrence]:
    """Several variants of one graph that are called in the same steps."""
    rows, texts = np.flatnonzero(regions(context)), context.analysis.trace.strings
    first = dict(zip(context.host.string[rows[::-1]].tolist(), rows[::-1].tolist(), strict=True))
    named = ((re.search(REGION, texts[name]), row) for name, row in first.items())
    variant = {(match[1], match[2]): row for match, row in named if match}
    graphs = [graph for graph, _ in variant]
    called = {f"{graph}/{n}": row for (graph, n), row in variant.items() if graphs.count(graph) > 1}
    several = sorted(called)
    if not several:
        return
    more = ", and others" if len(several) > _VARIANTS else ""
    warm = not (context.analysis.compiling & context.rows.counted).any()
    yield Occurrence(
        title="Compiled code runs in several variants",
        place="variants of one graph",
        evidence=f"compiled regions {', '.join(several[:_VARIANTS])}{more} run in the same "
        "steps: the code before the slash was compiled for each of several shapes, types, values "
        "or requires_grad",
        examples=context.call_tree.start[[called[each] for each in several]],
        latent=("they are compiled already; " if warm else "")
        + "each new variant takes another compilation",
        fix=_SETTLE,
    )


RECOMPILATION = Rule(
    id="recompilation",
    family="compile",
    title="Code is compiled during the steps, or in several variants",
    description="Spans of torch.compile (compile_inner, dynamo_timed, autotuning) after the first "
    "step of a trace that marks steps, or for 1% of one that marks none, with the syncs in them; "
    "or two variants of one compiled region "
    "(Torch-Compiled Region: graph/variant) in the measured steps.",
    fix="TORCH_LOGS=recompiles names the guard that failed. Pad or bucket shapes, or mark sizes by "
    "torch._dynamo.mark_dynamic. Pass Python numbers that change as tensors. Run every shape once "
    "before the loop.",
    reference="PyTorch, Dynamic shapes; Profiling to understand torch.compile performance",
    confidence="medium",
    explains=_explains,
    find=_find,
)
