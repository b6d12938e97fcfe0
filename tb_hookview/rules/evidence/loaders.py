"""Time in a `DataLoader`: occurrences of the rules about it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.host.roles import Role
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.formats import format_us
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence

SINGLE = "_SingleProcessDataLoaderIter"
SHARE = 0.05
"""Part of a step from which on time in a loader counts."""
_ONE_BATCH = (
    "It is the only batch of the trace, which marks no steps: the time may be that in which the "
    "workers start, once."
)


def in_loader(context: Context, *, single: bool) -> Iterator[Occurrence]:
    """Yield one occurrence if loaders with (or without) workers make a device, or the CPU, wait.

    Where the model runs on the CPU, all time in the loader is taken from it.
    """
    loading = (context.host.role == Role.DATA) & context.rows.counted
    if not loading.any():
        return
    loading &= context.rows.containing(SINGLE) == single
    rows = np.flatnonzero(loading)
    held = context.steps.us_per_step(context.call_tree.duration[rows].sum())
    gaps = context.gaps.at(loading, Cause.DATA_LOADING)
    on_host = context.on_host
    if not (len(gaps) or on_host) or held <= SHARE * context.steps.duration_us:
        return
    once = not (single or context.steps.marked or len(rows) > 1)
    longest = context.call_tree.duration[rows].max() / 1000
    yield Occurrence(
        place=context.host.name(int(rows[0])),
        everywhere=True,
        evidence=f"the host was in the loader for {context.us_text(held)}, "
        f"{held / context.steps.duration_us:.0%} of it, and for at most {format_us(longest)} at a "
        "time; a loader that keeps up takes under 1 ms",
        count=len(rows),
        gaps=gaps,
        host=context.rows.host_time(loading) if on_host else (),
        scale="data" if on_host else "",
        examples=context.call_tree.start[rows],
        claims_gain=not once,
        caveats=(_ONE_BATCH,) if once else (),
    )
