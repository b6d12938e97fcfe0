"""The table of syncs: each with its chain from the call up to the Python line."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_hookview import schema
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.host.roles import node_name
from tb_hookview.analysis.host.stacks import stacks_at
from tb_hookview.analysis.selection import Selection
from tb_hookview.analysis.syncs.detection import operator_chain
from tb_hookview.arrays.types import Int
from tb_hookview.schema import Phase
from tb_hookview.tables.events.keys import stream_ids


def sync_rows(selection: Selection, causes: Sequence[str]) -> list[schema.Sync]:
    """One row per sync in the selection, by start; `causes` has one entry per sync of the trace."""
    analysis = selection.analysis
    chosen = np.flatnonzero(selection.syncs)
    held_by = analysis.syncs.blocking_event[chosen]
    step = analysis.steps.at(analysis.syncs.start[chosen])
    numbers = (column.tolist() for column in (chosen, step, held_by))
    streams = stream_ids(analysis)
    columns = zip(*numbers, _stacks(analysis, chosen), strict=True)
    return [
        _row(analysis, sync, causes[sync], step, stack, _waited_for(analysis, work, streams))
        for sync, step, work, stack in columns
    ]


def _row(
    analysis: Analysis,
    sync: int,
    cause: str,
    step: int,
    stack: list[str],
    held_by: schema.WaitedFor | None,
) -> schema.Sync:
    syncs, trace = analysis.syncs, analysis.trace
    position = int(syncs.row[sync])
    node = int(analysis.row_node[position])
    module = int(analysis.attribution.row_module[position])
    operator = int(syncs.operator[sync])
    chain = operator_chain(analysis.host, operator)
    number = int(analysis.call_tree.thread[position])
    thread = trace.threads[number]
    idle = analysis.sync_idle
    event = analysis.call_tree.event
    return schema.Sync(
        id=sync,
        event_id=int(event[position]),
        api=_name(analysis, position),
        start_us=int(syncs.start[sync]) / 1000,
        duration_us=int(syncs.end[sync] - syncs.start[sync]) / 1000,
        step=analysis.steps.name[step] if step >= 0 else None,
        step_id=step if step >= 0 else None,
        phase=Phase(int(analysis.phases.row[position])).name.lower(),
        operator=chain[0] if chain else None,
        operator_id=int(event[operator]) if operator >= 0 else None,
        node=node_name(_name(analysis, int(analysis.nodes.row[node]))) if node >= 0 else None,
        node_id=int(event[analysis.nodes.row[node]]) if node >= 0 else None,
        module=analysis.modules.path[module] if module >= 0 else None,
        module_id=module if module >= 0 else None,
        cause=cause,
        device_idle_us=None if idle is None else int(idle[sync]) / 1000,
        stack=stack,
        thread=thread.name or thread.tid,
        thread_id=number,
        waited_for=held_by,
    )


def _waited_for(analysis: Analysis, work: int, streams: Int) -> schema.WaitedFor | None:
    if work < 0:
        return None
    trace, done = analysis.trace, analysis.device_events
    event = int(done.event[work])
    return schema.WaitedFor(
        event_id=event,
        name=trace.strings[int(trace.events.name[event])],
        device=str(done.device[work]),
        device_id=str(done.device[work]),
        stream=trace.threads[int(done.stream[work])].stream,
        stream_id=int(streams[work]),
        duration_us=int(done.end[work] - done.start[work]) / 1000,
    )


def _name(analysis: Analysis, position: int) -> str:
    return analysis.host.name(position)


def _stacks(analysis: Analysis, chosen: Int) -> list[list[str]]:
    """Python frames at each sync; in the backward pass those of the forward call that made it.

    The autograd thread has no frames of its own, and where backward runs on the caller's
    thread they only lead to `backward()`.
    """
    call_tree, asked = analysis.call_tree, analysis.forward_op_or_self(analysis.syncs.row[chosen])
    return stacks_at(analysis.trace, call_tree.thread[asked], call_tree.start[asked])
