"""The step compiles, although it has run before."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis import intervals
from tb_hookview.analysis.gaps import Cause
from tb_hookview.analysis.rules.context import Context
from tb_hookview.analysis.rules.rule import Match, Rule
from tb_hookview.trace.columns import Bool

_COMPILING = (
    r"compile_inner|\(dynamo_timed\)|^_?compile_fx\b|^OutputGraph\.call_user_compiler"
    r"|^create_aot_dispatcher_function|^async_compile\.wait|^CachingAutotuner\.benchmark"
)


def _match(context: Context) -> Iterator[Match]:
    compiling = context.matching(_COMPILING)
    outermost = compiling & context.rows & ~_below(context, compiling)
    rows = np.flatnonzero(outermost)
    if not context.has_steps or not len(rows):
        return
    spans = intervals.of(context.forest.start[rows], context.forest.end[rows])
    yield Match(
        place="torch.compile",
        everywhere=True,
        evidence=f"{len(rows)} times something is compiled after the first step of the trace, "
        f"{context.per_step(context.forest.duration[rows].sum()):.1f} us a step of the host",
        count=len(rows),
        gaps=context.gaps_within(spans, Cause.LAUNCH),
        examples=context.forest.start[rows],
        latent="the devices had work meanwhile",
    )


def _below(context: Context, wanted: Bool) -> Bool:
    """Rows that lie in a wanted row, themselves not counted."""
    parent = context.forest.parent
    inside = context.inside(wanted)
    return np.asarray((parent >= 0) & inside[parent])


RULE = Rule(
    id="recompile-graph-break",
    family="compile",
    title="Functions are compiled again in the middle of training",
    matches="Spans of torch.compile at work (compile_inner, dynamo_timed, autotuning) after the "
    "first step of a trace that marks steps.",
    fix="Run with TORCH_LOGS=recompiles,graph_breaks to learn why. Pad or bucket shapes, or mark "
    "sizes by torch._dynamo.mark_dynamic; remove item(), print and branches on tensors; test with "
    "fullgraph=True.",
    reference="PyTorch, Profiling to understand torch.compile performance",
    confidence="medium",
    match=_match,
)
