"""Rows of the trace, one by one: host rows, nodes, calls, device events, gaps, CUDA syncs."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.calls.division import WORK, call_work
from tb_hookview.analysis.device.events import calls_of
from tb_hookview.analysis.host.rows import Role
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.joins import asof, index_of, scatter
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import (
    DeviceEventIndex,
    EventRow,
    Int,
    Nanoseconds,
    SyncIndex,
    TreeRow,
)
from tb_hookview.tables.events.names import (
    Columns,
    Names,
    attribution_columns,
    first_events,
    kind_texts,
    numbered_kernels,
    owner_columns,
    stream_ids,
)
from tb_hookview.tables.model.columns import Arrays, Numbers, Texts, known, microseconds
from tb_hookview.trace import EventCategory, Thread
from tb_hookview.trace.columns.trace import Events


def events(selection: Selection) -> Arrays:
    """The table `events`: rows that began in a selected step, device events by their launch."""
    analysis, names = selection.analysis, Names(selection.analysis)
    of_event, of_host = analysis.device_attribution, analysis.attribution
    launch, step = analysis.device_events.launch, analysis.steps.at(analysis.trace.events.start)
    step[analysis.device_events.event] = analysis.device_event_step
    of_row, again = analysis.phases.row, of_host.row_recompute.astype(np.int64)
    phase = _on_events(analysis, of_row, lookup(of_row, launch))
    module = _on_events(analysis, of_host.row_module, of_event.module)
    node = _on_events(analysis, analysis.row_node, of_event.node)
    evidence = _of_nodes(analysis, of_host.node_evidence, of_event.evidence)
    reason = _of_nodes(analysis, of_host.node_reason, of_event.reason)
    recompute = _on_events(analysis, again, of_event.recompute.astype(np.int64)) > 0
    work_kind = _on_events(analysis, None, analysis.kinds.kind)
    return Arrays(
        np.flatnonzero(selection.within(step)),
        {
            "id": Numbers,
            "name": names.event,
            "kind": names.category,
            **_traced(analysis.trace.events),
            **_thread_columns(analysis.trace.events, analysis.trace.threads),
            **owner_columns(analysis, names, module, node, step, phase),
            **attribution_columns(evidence, reason),
            "work_kind": lambda i: kind_texts(work_kind[i]),
            "recompute": lambda i: Numbers(recompute[i]),
        },
    )


def _on_events(analysis: Analysis, of_host_rows: Int | None, of_device_events: Int) -> Int:
    """Put columns over host rows and over device events onto the rows of the trace."""
    column = np.full(len(analysis.trace.events), -1, np.int64)
    if of_host_rows is not None:
        column[analysis.call_tree.event] = of_host_rows
    column[analysis.device_events.event] = of_device_events
    return column


def _of_nodes(analysis: Analysis, of_node: Int, of_device_events: Int) -> Int:
    host = scatter(analysis.nodes.row, of_node, len(analysis.call_tree))
    return _on_events(analysis, host, of_device_events)


def _traced(events: Events) -> Columns:
    """The trace's own numbers."""
    return {
        "start_ns": lambda i: Numbers(events.start[i]),
        "duration_ns": lambda i: Numbers(events.duration[i]),
        "correlation": lambda i: known(events.correlation[i]),
        "sequence": lambda i: known(events.sequence[i]),
        "forward_thread": lambda i: known(events.forward_thread[i], least=1),
        "external_id": lambda i: known(events.external[i]),
        "device": lambda i: known(events.device[i]),
    }


def _thread_columns(events: Events, threads: tuple[Thread, ...]) -> Columns:
    thread = events.thread.astype(np.int64)
    return {
        "pid": lambda i: Texts([place.pid for place in threads], thread[i]),
        "tid": lambda i: Texts([place.tid for place in threads], thread[i]),
        "thread": lambda i: Texts([place.name or None for place in threads], thread[i]),
        "thread_id": lambda i: Numbers(thread[i]),
    }


_ROLES = [None if role is Role.NONE else role.name.lower() for role in Role]


def host_rows(selection: Selection) -> Arrays:
    """The table `host_rows`: rows that began in a selected step."""
    analysis, names = selection.analysis, Names(selection.analysis)
    tree, attribution = analysis.call_tree, analysis.attribution
    owner = owner_columns(
        analysis,
        names,
        attribution.row_module,
        analysis.row_node,
        analysis.steps.at(tree.start),
        analysis.phases.row,
    )
    return Arrays(
        np.flatnonzero(selection.rows),
        {
            "id": lambda i: Numbers(tree.event[i]),
            "parent_id": lambda i: known(lookup(tree.event, tree.parent[i])),
            "thread_id": lambda i: Numbers(tree.thread[i]),
            "name": lambda i: names.event(tree.event[i]),
            "category": lambda i: names.category(tree.event[i]),
            "role": lambda i: Texts(_ROLES, analysis.host.role[i]),
            "start_us": lambda i: microseconds(tree.start[i]),
            "duration_us": lambda i: microseconds(tree.duration[i]),
            **owner,
            "recompute": lambda i: Numbers(attribution.row_recompute[i]),
        },
    )


def node_evaluations(selection: Selection) -> Arrays:
    """The table `node_evaluations`: those that began in a selected step."""
    analysis, names = selection.analysis, Names(selection.analysis)
    nodes, attribution = analysis.nodes, analysis.attribution
    start, each = analysis.call_tree.start[nodes.row], np.arange(len(nodes))
    owner = owner_columns(
        analysis, names, attribution.node_module, each, analysis.steps.at(start), each
    )
    return Arrays(
        np.flatnonzero(selection.nodes),
        {
            "name": names.node,
            **_node_references(analysis, names),
            "start_us": lambda i: microseconds(start[i]),
            "duration_us": lambda i: microseconds(analysis.call_tree.duration[nodes.row[i]]),
            "self_host_us": lambda i: microseconds(nodes.self_host[i]),
            **{name: owner[name] for name in ("step", "step_id", "module", "module_id")},
            **attribution_columns(attribution.node_evidence, attribution.node_reason),
        },
    )


def _node_references(analysis: Analysis, names: Names) -> Columns:
    nodes, tree = analysis.nodes, analysis.call_tree
    event, string = tree.event[nodes.row], analysis.host.string[nodes.row]
    by_name = first_events(string, event)
    return {
        "id": lambda i: Numbers(event[i]),
        "name_id": lambda i: Numbers(by_name[string[i]]),
        "parent_id": lambda i: known(lookup(event, nodes.around[i])),
        "thread_id": lambda i: Numbers(tree.thread[nodes.row[i]]),
        **names.event_columns("forward_op", lookup(tree.event, nodes.forward_op)),
    }


def runtime_calls(selection: Selection) -> Arrays:
    """The table `runtime_calls`: those that began in a selected step."""
    analysis, names = selection.analysis, Names(selection.analysis)
    tree, step = analysis.call_tree, analysis.steps.at(analysis.call_tree.start)
    host = ~analysis.host.device_threads[tree.thread]
    calls = np.flatnonzero((analysis.host.kind == EventCategory.RUNTIME) & host & selection.rows)
    return Arrays(
        calls,
        {
            "id": lambda i: Numbers(tree.event[i]),
            "name": lambda i: names.event(tree.event[i]),
            "thread_id": lambda i: Numbers(tree.thread[i]),
            "start_us": lambda i: microseconds(tree.start[i]),
            "duration_us": lambda i: microseconds(tree.duration[i]),
            **_division(analysis, names),
            **names.step_columns(step),
        },
    )


def _division(analysis: Analysis, names: Names) -> Columns:
    """Parts of the time of calls; of those that waited for nothing all of it is their own."""
    times, tree, event = analysis.call_times, analysis.call_tree, analysis.device_events.event
    place, loads = index_of(times.row, len(tree)), analysis.kernel_loads

    def ns(column: Nanoseconds, row: TreeRow) -> Nanoseconds:
        return np.maximum(lookup(column, place[row]), 0)

    def waited(row: TreeRow) -> Nanoseconds:
        return np.asarray(np.maximum(ns(times.waited, row) - ns(times.before, row), 0))

    def events(column: DeviceEventIndex, row: TreeRow) -> EventRow:
        return lookup(event, lookup(column, place[row]))

    def own(row: TreeRow) -> Nanoseconds:
        return tree.duration[row] - waited(row) - ns(times.transfer, row)

    def part(nanoseconds: Nanoseconds) -> Numbers:
        recorded = None if len(event) else np.zeros(len(nanoseconds), bool)
        return Numbers(nanoseconds / 1000, recorded)

    return {
        "waited_us": lambda i: part(waited(i)),
        "transfer_us": lambda i: part(ns(times.transfer, i)),
        "own_us": lambda i: part(own(i)),
        "work": lambda i: Texts(
            WORK, call_work(analysis.host, analysis.calls, loads.row[loads.loaded], i)
        ),
        "waited_for": lambda i: names.event(events(times.ahead, i)),
        "waited_for_id": lambda i: known(events(times.ahead, i)),
        "copy_id": lambda i: known(events(times.copy, i)),
        "sync_id": lambda i: known(lookup(analysis.syncs.of_call, place[i])),
    }


def device_events(selection: Selection) -> Arrays:
    """The table `device_events`: those launched in a selected step."""
    analysis = selection.analysis
    events, names = analysis.device_events, Names(analysis)
    attribution = analysis.device_attribution
    step = analysis.device_event_step
    phase = lookup(analysis.phases.row, events.launch)
    return Arrays(
        np.flatnonzero(selection.device_events),
        {
            "id": lambda i: Numbers(events.event[i]),
            "name": lambda i: names.event(events.event[i]),
            "category": lambda i: names.category(events.event[i]),
            "kind": lambda i: kind_texts(analysis.kinds.kind[i]),
            "device_id": lambda i: names.device(events.device[i]),
            "start_us": lambda i: microseconds(events.start[i]),
            "duration_us": lambda i: microseconds(events.duration[i]),
            **_references(analysis),
            **_launches(analysis),
            **owner_columns(analysis, names, attribution.module, attribution.node, step, phase),
            **attribution_columns(attribution.evidence, attribution.reason),
            "recompute": lambda i: Numbers(attribution.recompute[i]),
            **_properties(analysis),
        },
    )


def _references(analysis: Analysis) -> Columns:
    events, call_tree = analysis.device_events, analysis.call_tree
    number, ids = numbered_kernels(analysis)
    stream = stream_ids(analysis)
    return {
        "kernel_id": lambda i: Numbers(ids[number[i]]),
        "stream_id": lambda i: Numbers(stream[i]),
        "launch_id": lambda i: known(lookup(call_tree.event, events.launch[i])),
        "launch_thread_id": lambda i: known(lookup(call_tree.thread, events.launch[i])),
    }


def _launches(analysis: Analysis) -> Columns:
    events, call_tree = analysis.device_events, analysis.call_tree

    def delay(i: Int) -> Int:
        waited = events.start[i] - lookup(call_tree.end, events.launch[i])
        return np.where(events.launch[i] < 0, -1, np.maximum(waited, 0))

    return {
        "launch_us": lambda i: _time(lookup(call_tree.duration, events.launch[i])),
        "launch_delay_us": lambda i: _time(delay(i)),
    }


def _time(nanoseconds: Nanoseconds) -> Numbers:
    """Microseconds; what is below 0 stands for none."""
    return Numbers(nanoseconds / 1000, nanoseconds >= 0)


def _properties(analysis: Analysis) -> Columns:
    event, events = analysis.device_events.event, analysis.trace.events
    core, occupancy = analysis.kinds.tensor_core, events.occupancy
    return {
        "tensor_core": lambda i: Numbers(core[i] > 0, core[i] >= 0),
        "bytes": lambda i: known(events.bytes[event[i]]),
        "occupancy_pct": lambda i: Numbers(occupancy[event[i]], ~np.isnan(occupancy[event[i]])),
    }


_CAUSES = [cause.name.lower() for cause in Cause]


def gaps(selection: Selection) -> Arrays:
    """The table `gaps`: those in a selected step."""
    analysis, names = selection.analysis, Names(selection.analysis)
    idle, tree = analysis.gaps, analysis.call_tree
    return Arrays(
        np.flatnonzero(selection.gaps),
        {
            "id": Numbers,
            "device_id": lambda i: names.device(idle.device[i]),
            "start_us": lambda i: microseconds(idle.start[i]),
            "duration_us": lambda i: microseconds(idle.duration[i]),
            "cause": lambda i: Texts(_CAUSES, idle.cause[i]),
            **names.step_columns(analysis.gap_step),
            "sync_id": lambda i: known(idle.sync[i]),
            "event_id": lambda i: known(lookup(tree.event, idle.row[i])),
            "ended_by_id": lambda i: known(
                lookup(analysis.device_events.event, idle.device_event[i])
            ),
        },
    )


def cuda_syncs(selection: Selection) -> Arrays:
    """The table `cuda_syncs`: those that began in a selected step."""
    analysis, names = selection.analysis, Names(selection.analysis)
    rows, events = analysis.trace.cuda_syncs, analysis.trace.events
    start = events.start[rows.event]
    step = analysis.steps.at(start)
    kinds, each = [kind or None for kind in rows.kind], np.arange(len(rows))
    return Arrays(
        np.flatnonzero(selection.times(start)),
        {
            "id": lambda i: Numbers(rows.event[i]),
            "cuda_sync_kind": lambda i: Texts(kinds, each[i]),
            "start_us": lambda i: microseconds(start[i]),
            "duration_us": lambda i: microseconds(events.duration[rows.event[i]]),
            "device_id": lambda i: names.device(rows.device[i]),
            "stream": lambda i: known(rows.stream[i]),
            **_calls(analysis, names),
            **names.step_columns(step),
        },
    )


def _calls(analysis: Analysis, names: Names) -> Columns:
    """The call of each row, and the recording of the event that it waits for."""
    rows, tree = analysis.trace.cuda_syncs, analysis.call_tree
    start = analysis.trace.events.start[rows.event]
    call = calls_of(analysis.trace, tree, rows.correlation, start)
    record = calls_of(analysis.trace, tree, rows.record_correlation, start)
    sync = _sync_around(analysis, call)
    return {
        "correlation": lambda i: known(rows.correlation[i]),
        **names.event_columns("call", lookup(tree.event, call)),
        "sync_id": lambda i: known(sync[i]),
        "wait_on_stream": lambda i: known(rows.wait_on_stream[i]),
        "wait_on_cuda_event_id": lambda i: known(rows.cuda_event[i]),
        "wait_on_cuda_event_record_corr_id": lambda i: known(rows.record_correlation[i]),
        "record_id": lambda i: known(lookup(tree.event, record[i])),
    }


def _sync_around(analysis: Analysis, call: TreeRow) -> SyncIndex:
    """The sync that each call is part of, -1 for none."""
    syncs, tree = analysis.syncs, analysis.call_tree
    thread, start = lookup(tree.thread, call), lookup(tree.start, call)
    found = asof(tree.thread[syncs.row], syncs.start, thread, start)
    return np.where((call >= 0) & (lookup(syncs.end, found) > start), found, -1)
