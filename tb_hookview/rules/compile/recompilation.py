"""Compilation after the first step, and regions that were compiled several times."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.types import Bool
from tb_hookview.formats import format_count, format_us
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.host import REGION, regions

_COMPILING = (
    r"compile_inner|\(dynamo_timed\)",
    r"^(_?compile_fx\b|OutputGraph\.call_user_compiler|create_aot_dispatcher_function"
    r"|async_compile\.wait|CachingAutotuner\.benchmark)",
)
_ID = re.compile(r"compile_id=(\d+)/(\d+)")
_LISTED = 3


def _find(context: Context) -> Iterator[Occurrence]:
    yield from list(_compiling(context)) or _variants(context)


def _compiling(context: Context) -> Iterator[Occurrence]:
    """Time spent on compiling in measured steps."""
    if not context.steps.marked:
        return
    compiling = context.rows.matching(_COMPILING[0]) | context.rows.matching(_COMPILING[1])
    if not compiling.any():
        return
    counted = compiling & context.rows.counted
    rows = np.flatnonzero(counted & (context.call_tree.nearest_above(compiling) < 0))
    if not len(rows):
        return
    spans = intervals.of(context.call_tree.start[rows], context.call_tree.end[rows])
    time = context.steps.us_per_step(context.call_tree.duration[rows].sum())
    yield Occurrence(
        title="Code is compiled during the steps",
        place="torch.compile",
        everywhere=True,
        evidence=f"{format_count(len(rows), 'time')} something is compiled after the first step of "
        f"the trace, {format_us(time)} of host time{context.each}{_ids(context, counted)}",
        count=len(rows),
        gaps=context.gaps.within(spans, Cause.LAUNCH),
        examples=context.call_tree.start[rows],
        latent="the devices had work meanwhile",
    )


def _ids(context: Context, compiling: Bool) -> str:
    """Phrase of what is compiled, and for the how manieth time; "" where the trace has no ids."""
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
    rows = np.flatnonzero(regions(context))
    texts = context.analysis.trace.strings
    names = [texts[name] for name in unique(context.host.string[rows]).tolist()]
    found = {(each[1], each[2]) for each in (re.search(REGION, name) for name in names) if each}
    graphs = [graph for graph, _ in found]
    several = sorted(f"{graph}/{variant}" for graph, variant in found if graphs.count(graph) > 1)
    if not several:
        return
    more = ", and others" if len(several) > 2 * _LISTED else ""
    yield Occurrence(
        title="Compiled code runs in several variants",
        place="variants of one graph",
        everywhere=True,
        evidence=f"compiled regions {', '.join(several[: 2 * _LISTED])}{more} run in the same "
        "steps: the code before the slash was compiled for each of several shapes, types or values",
        count=len(several),
        examples=context.call_tree.start[rows],
        latent="they are compiled already; each new variant takes another compilation",
    )


RULE = Rule(
    id="recompilation",
    family="compile",
    title="Code is compiled during the steps, or in several variants",
    description="Spans of torch.compile (compile_inner, dynamo_timed, autotuning) after the first "
    "step of a trace that marks steps; or two variants of one compiled region "
    "(Torch-Compiled Region: graph/variant) in the measured steps.",
    fix="TORCH_LOGS=recompiles names the guard that failed. Pad or bucket shapes, or mark sizes by "
    "torch._dynamo.mark_dynamic. Pass Python numbers that change as tensors. Run every shape once "
    "before the loop.",
    reference="PyTorch, Dynamic shapes; Profiling to understand torch.compile performance",
    confidence="medium",
    find=_find,
)
