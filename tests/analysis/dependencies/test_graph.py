"""Sets of edges put together, and by how much nodes are late."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.dependencies.graph import (
    EdgeKind,
    EdgeSet,
    Evidence,
    Nodes,
    joined,
    lateness,
)

NONE = np.zeros(0, np.int64)
HOST = EdgeSet(
    EdgeKind.HOST,
    Evidence.ORDER,
    np.array([0, 3, 1]),
    np.array([1, 3, 3]),
    np.array([10, 99, 5]),
    from_end=False,
)
STREAM = EdgeSet(
    EdgeKind.STREAM,
    Evidence.TIMES,
    np.array([2, 4, 2, 1]),
    np.array([3, 2, 4, 2]),
    np.array([7, 99, 1, 0]),
    from_end=True,
)


def test_edges_are_in_order_of_their_targets_and_of_the_sets() -> None:
    """The one from a node to itself, and the one back in time, are left out and counted."""
    edges = joined([HOST, STREAM])
    assert edges.source.tolist() == [0, 1, 1, 2, 2]
    assert edges.target.tolist() == [1, 2, 3, 3, 4]
    assert edges.lag.tolist() == [10, 0, 5, 7, 1]
    assert edges.from_end.tolist() == [False, True, False, True, True]
    assert edges.from_end.dtype == bool
    host, stream, order, times = EdgeKind.HOST, EdgeKind.STREAM, Evidence.ORDER, Evidence.TIMES
    assert edges.kind.tolist() == [host, stream, host, stream, stream]
    assert edges.evidence.tolist() == [order, times, order, times, times]
    assert edges.backward == 2
    assert edges.of(EdgeKind.STREAM).tolist() == [False, True, False, True, True]


def test_lateness_is_the_time_after_the_latest_edge() -> None:
    nodes = Nodes(
        time=np.array([0, 12, 20, 40, 41]),
        duration=np.array([0, 4, 10, 0, 0]),
        thread=np.array([-1, -1, -1, 0, 0]),
        event=np.array([-1, 0, 1, -1, -1]),
        history=np.zeros(5, bool),
        of_point=NONE,
        of_event=NONE,
    )
    # Edges arrive at 10; 12 + 4 + 0; 12 + 5 and 20 + 10 + 7; 20 + 10 + 1.
    assert lateness(nodes, joined([HOST, STREAM])).tolist() == [0, 2, 4, 3, 10]
    empty = HOST._replace(source=NONE, target=NONE, lag=NONE)
    assert lateness(nodes, joined([empty])).tolist() == [0, 12, 20, 40, 41]
