"""Time in a `DataLoader`: matches of the rules about it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.host.roles import Role
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence

SINGLE = "_SingleProcessDataLoaderIter"
SHARE = 0.05
"""Part of a step from which on time in a loader counts."""


def in_loader(context: Context, *, single: bool) -> Iterator[Occurrence]:
    """One match if loaders with (or without) workers hold the host, and a device idles for it."""
    loading = (context.host.role == Role.DATA) & context.rows
    if not loading.any():
        return
    loading &= context.holding(SINGLE) == single
    rows = np.flatnonzero(loading)
    held = context.per_step(context.call_tree.duration[rows].sum())
    gaps = context.gaps_at(loading, Cause.DATA_LOADING)
    if not len(gaps) or held <= SHARE * context.step_us:
        return
    longest = context.call_tree.duration[rows].max() / 1000
    yield Occurrence(
        place=context.host.name(int(rows[0])),
        everywhere=True,
        evidence=f"the host was in the loader for {held:.0f} us a step, "
        f"{held / context.step_us:.0%} of it, and for {longest:.0f} us at most at a time; a loader "
        "that keeps up takes under 1 ms",
        count=len(rows),
        gaps=gaps,
        examples=context.call_tree.start[rows],
    )
