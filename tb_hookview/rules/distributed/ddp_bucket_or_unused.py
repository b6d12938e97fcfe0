"""What DistributedDataParallel does around its collectives."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays import intervals
from tb_hookview.rules.distributed.sync_batchnorm import of_batch_norms
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.messages import collectives, work_of

_COPIED = "reducer::copy_bucket_to_grad"
_SEARCHED = "reducer::search_unused_parameters"


_SMALL = 1 << 20
"""Bytes below which a message takes about as long as one of no bytes."""
_MANY = 10
"""Small all-reduces a step, from which on they are told of."""


def _match(context: Context) -> Iterator[Occurrence]:
    yield from _small_buckets(context)
    copying = context.ending(_COPIED) & context.rows
    copies = context.work_launched(context.inside(copying)) & context.work
    if copies.any():
        time = context.device_us(copies)
        yield Occurrence(
            place="copies of buckets to gradients",
            everywhere=True,
            evidence=f"{np.count_nonzero(copies) / len(context.steps):.0f} copies a step of "
            f"reduced gradients out of their buckets, {time:.1f} us",
            count=int(np.count_nonzero(copies)),
            wasted=np.flatnonzero(copies),
            examples=context.work_starts(copies),
        )
    searching = context.ending(_SEARCHED) & context.rows
    if searching.any():
        call_tree = context.call_tree
        spans = intervals.of(call_tree.start[searching], call_tree.end[searching])
        yield Occurrence(
            place="search for unused parameters",
            everywhere=True,
            evidence=f"find_unused_parameters is set; the search takes the host "
            f"{context.per_step(intervals.length(spans)):.1f} us a step",
            count=int(np.count_nonzero(searching)),
            gaps=context.gaps_within(spans, Cause.LAUNCH),
            examples=context.call_tree.start[searching],
            latent="the device did not idle because of it in this trace",
        )


def _small_buckets(context: Context) -> Iterator[Occurrence]:
    rows, size = collectives(context, r"^all_?reduce")
    small = rows[(size >= 0) & (size < _SMALL)]
    transfers = work_of(context, small) & context.work & ~of_batch_norms(context)
    if len(small) < _MANY * len(context.steps) or 2 * len(small) < len(rows):
        return
    yield Occurrence(
        place="all-reduces of small buckets",
        everywhere=True,
        evidence=f"{len(small) / len(context.steps):.0f} of "
        f"{len(rows) / len(context.steps):.0f} all-reduces a step move less than 1 MiB each, "
        f"{context.per_step(1000 * size[(size >= 0) & (size < _SMALL)].sum()):.0f} bytes a step in "
        f"all; they take {context.device_us(transfers):.1f} us",
        count=len(small),
        wasted=np.flatnonzero(transfers),
        claims_gain=False,
        examples=context.call_tree.start[small],
        latent="each has the latency of a collective, however little it moves",
    )


RULE = Rule(
    id="ddp-bucket-or-unused",
    family="distributed",
    title="DistributedDataParallel does work that an option saves",
    matches="Device work in the reducer's copy_bucket_to_grad; its search_unused_parameters; ten "
    "and more all-reduces a step of less than 1 MiB (where the trace tells the sizes), half of all "
    "or more. Those of synchronized batch norms are not counted.",
    fix="Pass gradient_as_bucket_view=True: gradients then lie in their buckets. Pass "
    "find_unused_parameters=False where all parameters are used, or static_graph=True. Change "
    "bucket_cap_mb only with a measurement, and use no_sync() while gradients are summed over "
    "several batches.",
    reference="torch.nn.parallel.DistributedDataParallel documentation",
    confidence="medium",
    match=_match,
)
