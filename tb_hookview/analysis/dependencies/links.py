"""Links between rows of a trace: the edges of the graph that have an event at both ends, and more.

What launched a device event and which forward operator made a node is known of every row. What
waited for what is known of the steps that are replayed; elsewhere only `Syncs.blocking_event`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.dependencies.graph import EdgeKind, Evidence, Graph
from tb_hookview.arrays.joins import isin, pair_key
from tb_hookview.arrays.types import Bool, EventRow, Int
from tb_hookview.schema.timeline import LinkEvidence, LinkKind

EVIDENCE: dict[Evidence, LinkEvidence] = {
    Evidence.ORDER: "order",
    Evidence.CORRELATION: "correlation id",
    Evidence.SYNC_ROW: "cuda_sync row",
    Evidence.CALLS: "calls of the runtime",
    Evidence.TIMES: "times",
}
"""What in the trace shows an edge, in words."""


class Links(NamedTuple):
    """Links of one kind and evidence: rows of `Events`, shape (l,)."""

    kind: LinkKind
    evidence: LinkEvidence
    source: EventRow
    """What came first: launch, forward operator, what was waited for."""
    target: EventRow


def row_links(analysis: Analysis) -> Iterator[Links]:
    """Yield the links that every row may have: launches, forward operators."""
    rows, nodes = analysis.call_tree.event, analysis.nodes
    device_events = analysis.device_events
    launched = np.flatnonzero(device_events.launch >= 0)
    yield Links(
        "launch",
        EVIDENCE[Evidence.CORRELATION],
        rows[device_events.launch[launched]],
        device_events.event[launched],
    )
    made = nodes.forward_op >= 0
    by_sequence = nodes.by_sequence >= 0
    shown_by: tuple[tuple[LinkEvidence, Bool], ...] = (
        ("sequence number", made & by_sequence),
        ("flow", made & ~by_sequence),
    )
    for evidence, chosen in shown_by:
        yield Links("autograd", evidence, rows[nodes.forward_op[chosen]], rows[nodes.row[chosen]])


def wait_links(analysis: Analysis, graph: Graph | None) -> Iterator[Links]:
    """Yield what waited for which device event.

    Args:
        analysis: the trace.
        graph: of its steps; None where these are not replayed.
    """
    syncs, blocking = analysis.syncs, analysis.syncs.blocking_event
    rows, events = analysis.call_tree.event, analysis.device_events.event
    shown = np.zeros(0, np.int64)
    if graph is not None:
        yield from _by_evidence(graph, "cross_stream", *_cross_stream(analysis, graph))
        edge, source, sync = _waited_for(analysis, graph)
        yield from _by_evidence(graph, "sync", edge, events[source], rows[syncs.row[sync]])
        shown = pair_key(sync, source)
    others = (blocking >= 0) & ~isin(pair_key(np.arange(len(blocking)), blocking), shown)
    yield Links("sync", EVIDENCE[Evidence.TIMES], events[blocking[others]], rows[syncs.row[others]])


def _cross_stream(analysis: Analysis, graph: Graph) -> tuple[Int, EventRow, EventRow]:
    edge = np.flatnonzero(graph.edges.of(EdgeKind.CROSS_STREAM))
    events, event = analysis.device_events.event, graph.nodes.event
    return edge, events[event[graph.edges.source[edge]]], events[event[graph.edges.target[edge]]]


def _waited_for(analysis: Analysis, graph: Graph) -> tuple[Int, Int, Int]:
    """Edges of syncs whose device event ended within the sync; that event, and the sync."""
    sync = np.full(len(graph.nodes.time), -1, np.int64)
    sync[graph.sync_end] = graph.sync
    edge = np.flatnonzero(graph.edges.of(EdgeKind.SYNC))
    source, of = graph.nodes.event[graph.edges.source[edge]], sync[graph.edges.target[edge]]
    waited: Bool = analysis.device_events.end[source] > analysis.syncs.start[of]
    return edge[waited], source[waited], of[waited]


def _by_evidence(
    graph: Graph, kind: LinkKind, edge: Int, source: EventRow, target: EventRow
) -> Iterator[Links]:
    evidence = graph.edges.evidence[edge]
    for shown, words in EVIDENCE.items():
        mine = evidence == shown
        if mine.any():
            yield Links(kind, words, source[mine], target[mine])
