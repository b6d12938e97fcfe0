"""Work of DistributedDataParallel around its collectives."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays import intervals
from tb_hookview.formats import format_count, format_us
from tb_hookview.rules.distributed.collective_per_parameter import reduced_one_by_one
from tb_hookview.rules.distributed.sync_batchnorm import of_batch_norms
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.copies import collectives, has_ddp, transfers_of

_COPIED = "reducer::copy_bucket_to_grad"
_SEARCHED = "reducer::search_unused_parameters"
_VIEWS = "Pass gradient_as_bucket_view=True: gradients then lie in their buckets."
_USED = "Pass find_unused_parameters=False where all parameters are used, or static_graph=True."
_CAPACITY = (
    "Raise bucket_cap_mb, with a measurement, and use no_sync() while gradients are summed over "
    "several batches."
)
_SMALL = 1 << 20
"""Bytes below which a message takes about as long as one of no bytes."""
_MANY = 10
"""Small all-reduces per step from which they are reported."""


def _find(context: Context) -> Iterator[Occurrence]:
    yield from _small_buckets(context)
    copying = context.rows.ending(_COPIED) & context.rows.counted
    copies = (
        context.device_events.launched_by(context.rows.inside(copying))
        & context.device_events.counted
    )
    if copies.any():
        time = context.device_events.us_per_step(copies)
        yield Occurrence(
            place="copies of buckets to gradients",
            everywhere=True,
            evidence=f"{format_count(copies.sum() / len(context.steps), 'copy', 'copies')}"
            f"{context.each} of reduced gradients out of their buckets, {format_us(time)}",
            count=int(np.count_nonzero(copies)),
            wasted=np.flatnonzero(copies),
            examples=context.device_events.starts(copies),
            title="DistributedDataParallel copies gradients out of their buckets",
            fix=_VIEWS,
        )
    searching = context.rows.ending(_SEARCHED) & context.rows.counted
    if searching.any():
        call_tree = context.call_tree
        spans = intervals.of(call_tree.start[searching], call_tree.end[searching])
        yield Occurrence(
            place="search for unused parameters",
            everywhere=True,
            evidence=f"find_unused_parameters is set; the search takes the host "
            f"{context.us_text(context.steps.us_per_step(intervals.length(spans)))}",
            count=int(np.count_nonzero(searching)),
            gaps=context.gaps.within(spans, Cause.LAUNCH),
            examples=context.call_tree.start[searching],
            latent="the device did not idle because of it in this trace",
            title="DistributedDataParallel searches for unused parameters",
            fix=_USED,
        )


def _small_buckets(context: Context) -> Iterator[Occurrence]:
    rows, size = collectives(context, r"^all_?reduce")
    little = (size >= 0) & (size < _SMALL)
    small = rows[little]
    transfers = transfers_of(context, small) & ~of_batch_norms(context)
    transfers &= context.device_events.counted
    if len(small) < _MANY * len(context.steps) or 2 * len(small) < len(rows):
        return
    if not has_ddp(context) or len(reduced_one_by_one(context)):
        return
    yield Occurrence(
        place="all-reduces of small buckets",
        everywhere=True,
        evidence=f"{len(small) / len(context.steps):.0f} of "
        f"{len(rows) / len(context.steps):.0f} all-reduces{context.each} move less than 1 MiB "
        "each, "
        f"{size[little].sum() / len(context.steps):.0f} bytes{context.each} in all; they take "
        f"{format_us(context.device_events.us_per_step(transfers))}",
        count=len(small),
        wasted=np.flatnonzero(transfers),
        claims_gain=False,
        examples=context.call_tree.start[small],
        latent="each has the latency of a collective, however little it moves",
        title="DistributedDataParallel reduces gradients in small buckets",
        fix=_CAPACITY,
    )


RULE = Rule(
    id="ddp-bucket-or-unused",
    family="distributed",
    title="DistributedDataParallel options leave avoidable work",
    description="Device events in the reducer's copy_bucket_to_grad; its search_unused_parameters; "
    "ten or more all-reduces per step of less than 1 MiB (where the trace has the sizes), half of "
    "all or more. Those of synchronized batch norms are not counted.",
    fix=f"{_VIEWS} {_USED} {_CAPACITY}",
    reference="torch.nn.parallel.DistributedDataParallel documentation",
    confidence="medium",
    find=_find,
)
