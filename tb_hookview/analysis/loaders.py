"""Calls of data loaders whose time is spent once: as workers start, and as they end."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.host.rows import HostRows, Role
from tb_hookview.analysis.steps import Steps
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import TreeRow

SINGLE = "SingleProcessDataLoaderIter"
"""In names of iterators without workers, torch's and torchdata's (`_Stateful...`)."""
_SHARE = 0.05
"""Part of the rest of the trace up to which the other calls do not matter."""
_MOSTLY = 0.9
"""Part of the time in loaders that the first and the last call hold then."""


def loads_once(host: HostRows, steps: Steps) -> TreeRow:
    """The first and the last call of loaders with workers, if no batch in between is waited for.

    Only where no step is marked: marked ones show by themselves whether it recurs. Of two calls it
    is the first alone.
    """
    tree, role = host.call_tree, host.role
    rows = np.flatnonzero((role == Role.DATA) & (lookup(role, tree.parent) != Role.DATA))
    if steps.marked or len(rows) < 2 or any(SINGLE in host.name(row) for row in rows.tolist()):
        return rows[:0]
    rows = rows[np.argsort(tree.start[rows], kind="stable")]
    ends = rows[[0, -1]] if len(rows) > 2 else rows[:1]
    time, once = int(tree.duration[rows].sum()), int(tree.duration[ends].sum())
    left = int(steps.window[0, 1] - steps.window[0, 0]) - once
    keeps_up = time - once <= _SHARE * left
    return ends if keeps_up and once >= _MOSTLY * time else rows[:0]
