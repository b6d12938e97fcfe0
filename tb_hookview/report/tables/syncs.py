"""The table of syncs, each from its call up to the Python line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from tb_hookview import schema
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.host.rows import node_name
from tb_hookview.analysis.host.stacks import stacks_at
from tb_hookview.analysis.selection import Selection
from tb_hookview.analysis.syncs.detection import operator_chain
from tb_hookview.arrays.types import Int, SyncIndex, to_us
from tb_hookview.schema import Phase
from tb_hookview.tables.events.names import stream_ids


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
    streams, gaps, idle = stream_ids(analysis), _gaps(selection), selection.sync_idle
    columns = zip(*numbers, _stacks(analysis, chosen), strict=True)
    return [
        _row(
            analysis,
            sync,
            causes[sync],
            step,
            None if idle is None else to_us(idle[sync]),
            gaps.get(sync, []),
            stack,
            _blocking_event(analysis, event, streams),
        )
        for sync, step, event, stack in columns
    ]


def _gaps(selection: Selection) -> dict[int, list[int]]:
    """Gaps in the selection that each sync caused, by sync; those without any are left out."""
    caused: defaultdict[int, list[int]] = defaultdict(list)
    by = selection.analysis.gaps.sync
    gaps = np.flatnonzero(selection.gaps & (by >= 0))
    for gap, sync in zip(gaps.tolist(), by[gaps].tolist(), strict=True):
        caused[sync].append(gap)
    return caused


def _row(
    analysis: Analysis,
    sync: int,
    cause: str,
    step: int,
    idle_us: float | None,
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
    recorded = len(analysis.device_events) > 0
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
        device_idle_us=idle_us,
        gap_ids=gaps,
        stack=stack,
        thread=thread.name or thread.tid,
        thread_id=number,
        waited_for=blocking_event,
        waited_us=to_us(syncs.waited[sync]) if recorded else None,
        transfer_us=to_us(syncs.transfer[sync]) if recorded else None,
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
