"""The table of calls that allocate or free device memory, or pin host memory."""

from __future__ import annotations

import numpy as np

from tb_hookview import schema
from tb_hookview.analysis.host.runtime_calls import Call
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.sums import sum_by
from tb_hookview.arrays.units import to_us
from tb_hookview.tables.events.names import first_events


def allocation_rows(selection: Selection) -> list[schema.Allocation]:
    """One row per call's name, most expensive first; calls that began in the selection.

    A call inside another of these is part of it.
    """
    analysis, host = selection.analysis, selection.analysis.host
    calls = analysis.calls == Call.ALLOCATE
    if not calls.any():
        return []
    outermost = analysis.call_tree.nearest_above(calls) < 0
    wanted = np.flatnonzero(calls & outermost)
    first = first_events(host.string[wanted], analysis.call_tree.event[wanted])
    rows = wanted[selection.rows[wanted]]
    charged = analysis.gaps.cause == Cause.ALLOCATOR
    idle = sum_by(analysis.gaps.row[charged], analysis.gaps.duration[charged], len(host))
    waited = np.zeros(len(host), np.int64)
    waited[analysis.call_times.row] = analysis.call_times.waited
    table = []
    for string in unique(host.string[rows]).tolist():
        mine = rows[host.string[rows] == string]
        table.append(
            schema.Allocation(
                id=int(first[string]),
                api=analysis.trace.strings[string],
                count=len(mine),
                blocked_us=to_us(analysis.call_tree.duration[mine].sum()),
                waited_us=to_us(waited[mine].sum()),
                device_idle_us=to_us(idle[mine].sum()) if len(analysis.device_events) else None,
            )
        )
    return sorted(table, key=lambda row: row.blocked_us, reverse=True)
