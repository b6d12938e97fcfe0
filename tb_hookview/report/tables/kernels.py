"""The kernel table: kernels, copies and sets by name, most expensive first."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_hookview import schema
from tb_hookview.analysis.device.events import of_graph
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.joins import grouped
from tb_hookview.arrays.sums import greatest_by, least_by, sum_by, weighted_mean
from tb_hookview.arrays.types import DeviceEventIndex, EventRow, Float, Int, Nanoseconds, to_us
from tb_hookview.schema import KINDS, PHASES, Phase
from tb_hookview.tables.events.names import numbered_kernels
from tb_hookview.trace import EventCategory

LONGEST = 500
"""Rows of the table; traces of compiled models can hold thousands of names."""
EVENTS = {EventCategory.KERNEL: "kernel", EventCategory.COPY: "copy", EventCategory.SET: "set"}


def kernel_rows(selection: Selection) -> tuple[list[schema.Kernel], schema.KernelsOmitted | None]:
    """Rows by name, and what the first `LONGEST` of them leave out."""
    grouped = _group(selection)
    if grouped is None:
        return [], None
    expensive = np.lexsort((np.arange(len(grouped.total)), -grouped.total))
    rows = [_row(selection, grouped, group) for group in expensive[:LONGEST].tolist()]
    rest = expensive[LONGEST:]
    if not len(rest):
        return rows, None
    return rows, schema.KernelsOmitted(
        names=len(rest),
        count=int(grouped.count[rest].sum()),
        total_us=to_us(grouped.total[rest].sum()),
    )


class _Groups(Struct, frozen=True):
    """Sums of device events by name, event and kind; shape (g,), times in nanoseconds."""

    id: EventRow
    first: DeviceEventIndex
    """One device event of each group, an index into `DeviceEvents`."""
    count: Int
    from_graph: Int
    total: Nanoseconds
    shortest: Nanoseconds
    longest: Nanoseconds
    by_phase: Nanoseconds
    """Shape (g, phases)."""
    blocks_per_sm: Float
    occupancy: Float


def _group(selection: Selection) -> _Groups | None:
    analysis = selection.analysis
    device_events, events = analysis.device_events, analysis.trace.events
    chosen = np.flatnonzero(selection.device_events)
    if not len(chosen):
        return None
    event, duration = device_events.event[chosen], device_events.duration[chosen]
    number, ids = numbered_kernels(analysis)
    distinct, first, group = grouped(number[chosen])
    size = len(first)
    total, shortest, longest = (by(group, duration, size) for by in (sum_by, least_by, greatest_by))
    launch = device_events.launch[chosen]
    launched = np.flatnonzero(launch >= 0)
    phase = analysis.phases.row[launch[launched]]
    phase = np.where(np.append(analysis.phases.known, True)[phase], phase, int(Phase.OTHER))
    place = group[launched] * len(Phase) + phase
    by_phase = sum_by(place, duration[launched], size * len(Phase)).reshape(size, len(Phase))
    return _Groups(
        id=ids[distinct],
        first=chosen[first],
        count=np.bincount(group, minlength=size),
        from_graph=np.bincount(
            group, of_graph(analysis.host, device_events, chosen), minlength=size
        ),
        total=total,
        shortest=shortest,
        longest=longest,
        by_phase=by_phase,
        blocks_per_sm=weighted_mean(group, size, duration, events.blocks_per_sm[event]),
        occupancy=weighted_mean(group, size, duration, events.occupancy[event]),
    )


def _row(selection: Selection, groups: _Groups, group: int) -> schema.Kernel:
    analysis = selection.analysis
    example = int(groups.first[group])
    event = int(analysis.device_events.event[example])
    core = int(analysis.kinds.tensor_core[example])
    total, count = int(groups.total[group]), int(groups.count[group])
    return schema.Kernel(
        id=int(groups.id[group]),
        name=analysis.trace.strings[analysis.trace.events.name[event]],
        kind=KINDS[analysis.kinds.kind[example]],
        event=EVENTS[EventCategory(analysis.trace.events.kind[event])],
        count=count,
        graph_count=int(groups.from_graph[group]),
        total_us=to_us(total),
        mean_us=total / count / 1000,
        min_us=to_us(groups.shortest[group]),
        max_us=to_us(groups.longest[group]),
        by_phase={
            phase: to_us(time)
            for phase, time in zip(PHASES, groups.by_phase[group].tolist(), strict=True)
            if time
        },
        tensor_core=None if core < 0 else bool(core),
        blocks_per_sm=_known(groups.blocks_per_sm[group]),
        occupancy_pct=_known(groups.occupancy[group]),
    )


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
