"""The tables of kernels, by name, and of syncs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from tb_hookview import schema
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.device.events import of_graph
from tb_hookview.analysis.host.rows import node_name
from tb_hookview.analysis.host.stacks import stacks_at
from tb_hookview.analysis.selection import Selection
from tb_hookview.analysis.syncs.detection import operator_chain
from tb_hookview.arrays.joins import grouped
from tb_hookview.arrays.sums import sum_by, weighted_mean
from tb_hookview.arrays.types import (
    DeviceEventIndex,
    EventRow,
    Float,
    Int,
    Nanoseconds,
    SyncIndex,
    to_us,
)
from tb_hookview.schema import KINDS, Phase
from tb_hookview.tables.events.names import numbered_kernels, stream_ids
from tb_hookview.trace import EventCategory

LONGEST = 500
"""Rows of the table; traces of compiled models can hold thousands of names."""
_PHASES = tuple(phase.name.lower() for phase in Phase)
_EVENTS = {EventCategory.KERNEL: "kernel", EventCategory.COPY: "copy", EventCategory.SET: "set"}


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
    total, longest = sum_by(group, duration, size), np.zeros(size, np.int64)
    np.maximum.at(longest, group, duration)
    shortest = longest.copy()
    np.minimum.at(shortest, group, duration)
    launch = device_events.launch[chosen]
    by_phase = np.zeros((size, len(Phase)), np.int64)
    launched = np.flatnonzero(launch >= 0)
    np.add.at(
        by_phase, (group[launched], analysis.phases.row[launch[launched]]), duration[launched]
    )
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
        event=_EVENTS[EventCategory(analysis.trace.events.kind[event])],
        count=count,
        graph_count=int(groups.from_graph[group]),
        total_us=to_us(total),
        mean_us=total / count / 1000,
        min_us=to_us(groups.shortest[group]),
        max_us=to_us(groups.longest[group]),
        by_phase={
            phase: to_us(time)
            for phase, time in zip(_PHASES, groups.by_phase[group].tolist(), strict=True)
            if time
        },
        tensor_core=None if core < 0 else bool(core),
        blocks_per_sm=_known(groups.blocks_per_sm[group]),
        occupancy_pct=_known(groups.occupancy[group]),
    )


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


# The table of syncs, each from its call up to the Python line.


def sync_rows(selection: Selection, causes: Sequence[str]) -> list[schema.Sync]:
    """One row per sync in the selection, by start.

    Args:
        selection: the steps to report.
        causes: one entry per sync of the trace.
    """
    analysis = selection.analysis
    chosen = np.flatnonzero(selection.syncs)
    blocking_event = analysis.syncs.blocking_event[chosen]
    step = analysis.steps.at(analysis.syncs.start[chosen])
    numbers = (column.tolist() for column in (chosen, step, blocking_event))
    streams, gaps = stream_ids(analysis), _gaps(analysis)
    columns = zip(*numbers, _stacks(analysis, chosen), strict=True)
    return [
        _row_syncs(
            analysis,
            sync,
            causes[sync],
            step,
            gaps.get(sync, []),
            stack,
            _blocking_event(analysis, event, streams),
        )
        for sync, step, event, stack in columns
    ]


def _gaps(analysis: Analysis) -> dict[int, list[int]]:
    """Gaps that each sync caused, by sync; those without any are left out."""
    caused: defaultdict[int, list[int]] = defaultdict(list)
    gaps = np.flatnonzero(analysis.gaps.sync >= 0)
    for gap, sync in zip(gaps.tolist(), analysis.gaps.sync[gaps].tolist(), strict=True):
        caused[sync].append(gap)
    return caused


def _row_syncs(
    analysis: Analysis,
    sync: int,
    cause: str,
    step: int,
    gaps: list[int],
    stack: list[str],
    blocking_event: schema.WaitedFor | None,
) -> schema.Sync:
    syncs, trace = analysis.syncs, analysis.trace
    row = int(syncs.row[sync])
    node = int(analysis.row_node[row])
    module = int(analysis.attribution.row_module[row])
    operator = int(syncs.operator[sync])
    chain = operator_chain(analysis.host, operator)
    number = int(analysis.call_tree.thread[row])
    thread = trace.threads[number]
    idle = analysis.sync_idle
    event = analysis.call_tree.event
    return schema.Sync(
        id=sync,
        event_id=int(event[row]),
        api=_name(analysis, row),
        start_us=to_us(syncs.start[sync]),
        duration_us=to_us(syncs.end[sync] - syncs.start[sync]),
        step=analysis.steps.name[step] if step >= 0 else None,
        step_id=step if step >= 0 else None,
        phase=Phase(int(analysis.phases.row[row])).name.lower(),
        operator=chain[0] if chain else None,
        operator_id=int(event[operator]) if operator >= 0 else None,
        node=node_name(_name(analysis, int(analysis.nodes.row[node]))) if node >= 0 else None,
        node_id=int(event[analysis.nodes.row[node]]) if node >= 0 else None,
        module=analysis.modules.path[module] if module >= 0 else None,
        module_id=module if module >= 0 else None,
        cause=cause,
        device_idle_us=None if idle is None else to_us(idle[sync]),
        gap_ids=gaps,
        stack=stack,
        thread=thread.name or thread.tid,
        thread_id=number,
        waited_for=blocking_event,
        waited_us=to_us(syncs.waited[sync]),
        transfer_us=to_us(syncs.transfer[sync]),
    )


def _blocking_event(analysis: Analysis, blocking: int, streams: Int) -> schema.WaitedFor | None:
    if blocking < 0:
        return None
    trace, events = analysis.trace, analysis.device_events
    event = int(events.event[blocking])
    return schema.WaitedFor(
        event_id=event,
        name=trace.strings[int(trace.events.name[event])],
        device=str(events.device[blocking]),
        device_id=str(events.device[blocking]),
        stream=trace.threads[int(events.stream[blocking])].stream,
        stream_id=int(streams[blocking]),
        duration_us=to_us(events.end[blocking] - events.start[blocking]),
    )


def _name(analysis: Analysis, row: int) -> str:
    return analysis.host.name(row)


def _stacks(analysis: Analysis, chosen: SyncIndex) -> list[list[str]]:
    """Python frames at each sync; in backward those of the forward call.

    The autograd thread has no frames of its own, and where backward runs on the caller's
    thread they only lead to `backward()`.
    """
    call_tree, asked = analysis.call_tree, analysis.forward_op_or_self(analysis.syncs.row[chosen])
    return stacks_at(analysis.trace, call_tree.thread[asked], call_tree.start[asked])
