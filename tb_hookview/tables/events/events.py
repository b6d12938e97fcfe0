"""The rows of the trace in the file's order, with the analysis of each."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Int
from tb_hookview.tables.events.names import (
    Columns,
    Names,
    attribution_columns,
    kind_texts,
    owner_columns,
)
from tb_hookview.tables.model.values import Arrays, Numbers, Texts, known
from tb_hookview.trace import Thread
from tb_hookview.trace.columns.trace import Events


def events(selection: Selection) -> Arrays:
    """The table `events`: rows that began in a selected step, device events by their launch."""
    analysis, names = selection.analysis, Names(selection.analysis)
    of_event, of_host = analysis.device_attribution, analysis.attribution
    launch, step = analysis.device_events.launch, analysis.steps.at(analysis.trace.events.start)
    step[analysis.device_events.event] = analysis.device_event_step
    of_row, again = analysis.phases.row, of_host.row_recompute.astype(np.int64)
    phase = _spread(analysis, of_row, lookup(of_row, launch))
    module = _spread(analysis, of_host.row_module, of_event.module)
    node = _spread(analysis, analysis.row_node, of_event.node)
    evidence = _of_nodes(analysis, of_host.node_evidence, of_event.evidence)
    reason = _of_nodes(analysis, of_host.node_reason, of_event.reason)
    recompute = _spread(analysis, again, of_event.recompute.astype(np.int64)) > 0
    work_kind = _spread(analysis, None, analysis.kinds.kind)
    return Arrays(
        np.flatnonzero(selection.within(step)),
        {
            "id": Numbers,
            "name": names.event,
            "kind": names.category,
            **_traced(analysis.trace.events),
            **_threads(analysis.trace.events, analysis.trace.threads),
            **owner_columns(analysis, names, module, node, step, phase),
            **attribution_columns(evidence, reason),
            "work_kind": lambda i: kind_texts(work_kind[i]),
            "recompute": lambda i: Numbers(recompute[i]),
        },
    )


def _spread(analysis: Analysis, of_host_rows: Int | None, of_device_events: Int) -> Int:
    """Put columns over host rows and over device events onto the rows of the trace."""
    column = np.full(len(analysis.trace.events), -1, np.int64)
    if of_host_rows is not None:
        column[analysis.call_tree.event] = of_host_rows
    column[analysis.device_events.event] = of_device_events
    return column


def _of_nodes(analysis: Analysis, of_node: Int, of_device_events: Int) -> Int:
    host = np.full(len(analysis.call_tree), -1, np.int64)
    host[analysis.nodes.row] = of_node
    return _spread(analysis, host, of_device_events)


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


def _threads(events: Events, threads: tuple[Thread, ...]) -> Columns:
    thread = events.thread.astype(np.int64)
    return {
        "pid": lambda i: Texts([place.pid for place in threads], thread[i]),
        "tid": lambda i: Texts([place.tid for place in threads], thread[i]),
        "thread": lambda i: Texts([place.name or None for place in threads], thread[i]),
        "thread_id": lambda i: Numbers(thread[i]),
    }
