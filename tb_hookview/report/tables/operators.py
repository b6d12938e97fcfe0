"""The table of operators and annotations by name: calls, host and device time."""

from __future__ import annotations

import numpy as np

from tb_hookview import schema
from tb_hookview.analysis.host.operators import OperatorRows
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.joins import unique_inverse
from tb_hookview.arrays.types import Int, Nanoseconds
from tb_hookview.arrays.units import to_us
from tb_hookview.tables.events.keys import first_events


def operator_rows(selection: Selection) -> list[schema.Operator]:
    """One row per name, most expensive on the device first, then on the host.

    Calls count where they began in the selection, device events where their launches do.
    """
    analysis, host = selection.analysis, selection.analysis.host
    rows = analysis.operators
    string = host.string
    size = len(analysis.trace.strings)
    chosen = np.flatnonzero(rows.named & selection.rows)
    whole = chosen[~rows.repeats[chosen]]
    calls = np.bincount(string[whole], minlength=size)
    host_ns = _sums(string[whole], analysis.call_tree.duration[whole], size)
    self_ns = _sums(string[chosen], rows.self_host[chosen], size)
    device, own = _device_time(selection, rows, size)
    first = first_events(string[rows.named], analysis.call_tree.event[rows.named])
    known = analysis.launches_known
    table = [
        schema.Operator(
            id=int(first[i]),
            name=analysis.trace.strings[i],
            calls=int(calls[i]),
            host_us=to_us(host_ns[i]),
            self_host_us=to_us(self_ns[i]),
            device_us=to_us(device[i]) if known else None,
            self_device_us=to_us(own[i]) if known else None,
        )
        for i in np.flatnonzero(calls).tolist()
    ]
    table.sort(key=lambda row: (row.self_device_us or 0.0, row.self_host_us), reverse=True)
    return table[: schema.OPERATORS]


def _device_time(
    selection: Selection, rows: OperatorRows, size: int
) -> tuple[Nanoseconds, Nanoseconds]:
    """Device time by name: of whole calls, and of what each launched itself."""
    events = selection.analysis.device_events
    mine = selection.device_events & (events.launch >= 0)
    launch, place = unique_inverse(events.launch[mine])
    duration = _sums(place, events.duration[mine], len(launch))
    row = rows.above[launch]
    string = selection.analysis.host.string
    own, total = None, np.zeros(size, np.int64)
    while len(row):
        inside = row >= 0
        row, duration = row[inside], duration[inside]
        whole = ~rows.repeats[row]
        total += _sums(string[row[whole]], duration[whole], size)
        own = _sums(string[row], duration, size) if own is None else own
        row = rows.above[row]
    return total, np.zeros(size, np.int64) if own is None else own


def _sums(group: Int, nanoseconds: Nanoseconds, size: int) -> Nanoseconds:
    """Sum per group; doubles hold every sum of nanoseconds below a hundred days exactly."""
    return np.bincount(group, nanoseconds, minlength=size).astype(np.int64)
