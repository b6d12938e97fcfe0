"""Role of each thread of the host: forward, backward, data or other."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.arrays.joins import unique
from tb_hookview.schema import Phase

_DATA_NAMES = ("pt_data_worker", "pt_data_pin")
"""Part of torch's names for threads of its `DataLoader`."""


def thread_role(analysis: Analysis, thread: int) -> str:
    """`schema.Thread.role` of a thread, by all of the trace."""
    first, end = np.searchsorted(analysis.call_tree.thread, [thread, thread + 1])
    phases = set(unique(analysis.phases.row[first:end]).tolist())
    if thread in analysis.steps.thread or Phase.FORWARD in phases:
        return "forward"
    if Phase.BACKWARD in phases:
        return "backward"
    name = analysis.trace.threads[thread].name
    if Phase.DATA in phases or any(known in name for known in _DATA_NAMES):
        return "data"
    return "other"
