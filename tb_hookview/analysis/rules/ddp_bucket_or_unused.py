"""What DistributedDataParallel does around its collectives."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis import intervals
from tb_hookview.analysis.gaps import Cause
from tb_hookview.analysis.rules.context import Context
from tb_hookview.analysis.rules.rule import Match, Rule

_COPIED = r"reducer::copy_bucket_to_grad$"
_SEARCHED = r"reducer::search_unused_parameters$"


def _match(context: Context) -> Iterator[Match]:
    copying = context.matching(_COPIED) & context.rows
    copies = context.work_launched(context.inside(copying)) & context.work
    if copies.any():
        time = context.device_us(copies)
        yield Match(
            place="copies of buckets to gradients",
            everywhere=True,
            evidence=f"{np.count_nonzero(copies) / len(context.steps):.0f} copies a step of "
            f"reduced gradients out of their buckets, {time:.1f} us",
            count=int(np.count_nonzero(copies)),
            wasted_us=time,
            examples=context.work_starts(copies),
        )
    searching = context.matching(_SEARCHED) & context.rows
    if searching.any():
        forest = context.forest
        spans = intervals.of(forest.start[searching], forest.end[searching])
        yield Match(
            place="search for unused parameters",
            everywhere=True,
            evidence=f"find_unused_parameters is set; the search takes the host "
            f"{context.per_step(intervals.length(spans)):.1f} us a step",
            count=int(np.count_nonzero(searching)),
            gaps=context.gaps_within(spans, Cause.LAUNCH),
            examples=context.forest.start[searching],
            latent="the device did not idle because of it in this trace",
        )


RULE = Rule(
    id="ddp-bucket-or-unused",
    family="distributed",
    title="DistributedDataParallel does work that an option saves",
    matches="Device work in the reducer's copy_bucket_to_grad; or its search_unused_parameters. "
    "The sizes of buckets are not read.",
    fix="Pass gradient_as_bucket_view=True: gradients then lie in their buckets. Pass "
    "find_unused_parameters=False where all parameters are used, or static_graph=True. Change "
    "bucket_cap_mb only with a measurement, and use no_sync() while gradients are summed over "
    "several batches.",
    reference="torch.nn.parallel.DistributedDataParallel documentation",
    confidence="medium",
    match=_match,
)
