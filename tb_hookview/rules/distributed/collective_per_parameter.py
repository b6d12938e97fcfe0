"""Gradients are reduced one by one: a collective for each parameter."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.host.rows import Call, Role
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import asof, unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, Nanoseconds, TimeSet, TreeRow
from tb_hookview.formats import format_count
from tb_hookview.rules.distributed.sync_batchnorm import of_batch_norms
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.trace import EventCategory

_REDUCES = r"all_?reduce"
_MANY = 20
"""All-reduces a step; a model of a few parameters has nothing to group."""
_SHARE = 0.5
"""All-reduces for each gradient; buckets hold several."""
_BETWEEN = 2
"""Kernels between an all-reduce and the next in a loop over parameters: the mean, a cast."""


def reduced_one_by_one(context: Context) -> TreeRow:
    """All-reduces (call tree rows) in measured steps, if there is one for each gradient."""
    launch = context.analysis.device_events.launch
    transfers = context.device_events.of_kinds("communication") & context.device_events.counted
    transfers &= (launch >= 0) & ~of_batch_norms(context)
    at = unique(launch[transfers])
    gradients = (context.host.role == Role.GRADIENT_SINK) & context.rows.counted
    least = max(_MANY * len(context.steps), _SHARE * max(gradients.sum(), 1))
    if len(at) < least:
        return at[:0]
    reduces = context.rows.matching(_REDUCES) & (context.host.kind != EventCategory.PYTHON)
    rows = unique(context.rows.outermost_of(reduces, at))
    rows = rows[rows >= 0]
    return rows[:0] if len(rows) < least else rows


def _find(context: Context) -> Iterator[Occurrence]:
    rows = reduced_one_by_one(context)
    if not len(rows) or not (context.host.role == Role.GRADIENT_SINK).any():
        return
    awaited, end = _awaited(context, rows)
    spans = _spans(context, rows, end)
    steps = len(context.steps)
    gradients = np.count_nonzero(context.rows.counted & (context.host.role == Role.GRADIENT_SINK))
    yield Occurrence(
        place="all-reduces of single gradients",
        everywhere=True,
        evidence=f"{format_count(len(rows) / steps, 'all-reduce')}{context.each} for "
        f"{format_count(gradients / steps, 'gradient')}, {awaited.sum() / steps:.0f} of "
        "them awaited before anything else is launched; the host spends "
        f"{context.us_text(context.steps.us_per_step(intervals.length(spans)))} on launching and "
        "awaiting them",
        count=len(rows),
        gaps=context.gaps.within(spans, Cause.LAUNCH, Cause.COMMUNICATION),
        examples=context.call_tree.start[rows],
        latent="each has the latency of a collective, and nothing overlaps it",
    )


def _awaited(context: Context, rows: TreeRow) -> tuple[Bool, Nanoseconds]:
    """Whether a stream waits for each collective before the next launch, and the end of that."""
    call_tree, calls = context.call_tree, context.analysis.calls
    launch = context.analysis.device_events.launch
    waits = np.flatnonzero((calls == Call.DEVICE_WAIT) | (calls == Call.WAIT))
    launches = unique(launch[launch >= 0])
    thread, ended = call_tree.thread[rows], call_tree.end[rows]
    wait, launched = (
        lookup(found, asof(call_tree.thread[found], -call_tree.start[found], thread, -ended))
        for found in (waits, launches)
    )
    never = np.iinfo(np.int64).max
    begun = np.where(wait >= 0, lookup(call_tree.start, wait), never)
    awaited = begun < np.where(launched >= 0, lookup(call_tree.start, launched), never)
    return awaited, np.where(awaited, lookup(call_tree.end, wait), ended)


def _spans(context: Context, rows: TreeRow, end: Nanoseconds) -> TimeSet:
    """Time from each collective to its wait, and on to the next one in a loop over parameters."""
    call_tree, events = context.call_tree, context.analysis.device_events
    kernel = context.analysis.trace.events.kind[events.event] == EventCategory.KERNEL
    computes = kernel & ~context.device_events.of_kinds("communication") & (events.launch >= 0)
    launched = np.bincount(events.launch[computes], minlength=len(call_tree))
    until = np.concatenate([[0], np.cumsum(launched)])
    start, after = call_tree.start[rows], call_tree.subtree_end[rows]
    step = context.analysis.steps.at(start)
    loops = (call_tree.thread[rows][1:] == call_tree.thread[rows][:-1]) & (step[1:] == step[:-1])
    loops &= until[rows[1:]] - until[after[:-1]] <= _BETWEEN
    end[:-1] = np.where(loops, start[1:], end[:-1])
    return intervals.of(start, end)


RULE = Rule(
    id="collective-per-parameter",
    family="distributed",
    title="Every gradient is reduced by a separate collective",
    description="Twenty or more all-reduces per step, and one for every two gradients or more "
    "(rows of AccumulateGrad). The time of the transfers themselves is in comm-exposed.",
    fix="Reduce gradients together: flatten them into a few buckets, or pass the list to "
    "all_reduce_coalesced. DistributedDataParallel does so, and overlaps the buckets with the "
    "backward. Otherwise start all of them with async_op=True, and wait once after the last.",
    reference="torch.distributed documentation: all_reduce, asynchronous collectives; "
    "torch.nn.parallel.DistributedDataParallel",
    find=_find,
)
