"""Autograd nodes, and the forward operator that made each of them.

torch numbers nodes per forward thread. An operator records the number the *next* node will get, so
of all operators with a node's number the one that made it is the last to start before the node
runs. The thread is given only as a number of the profiler's own (`Fwd thread id`), which is learnt
from forward-backward arrows, or from which thread's operators cover the numbers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from tb_hookview.analysis.forest import Forest, innermost_at, lookup, nearest_above, self_time
from tb_hookview.analysis.joins import last_up_to, pair_key
from tb_hookview.analysis.names import Role, node_name
from tb_hookview.trace import Trace
from tb_hookview.trace.columns import Bool, Int


@dataclass(frozen=True)
class Nodes:
    """Evaluations of autograd nodes; arrays of shape (m,), in forest order."""

    position: Int
    """Forest position of the evaluation."""
    self_host: Int
    """Host time less that of evaluations nested in it (a re-entrant backward's), nanoseconds."""
    by_sequence: Int
    """Forest position of the forward operator found by sequence number, -1 for none."""
    by_flow: Int
    """The same, found by a forward-backward arrow."""

    def __len__(self) -> int:
        return len(self.position)


def find_nodes(trace: Trace, forest: Forest, role: Int) -> Nodes:
    """Find all node evaluations. `role` is that of each forest row."""
    is_node = _outermost(trace, forest, role == Role.NODE)
    position = np.flatnonzero(is_node)
    index = np.full(len(forest), -1, np.int64)
    index[position] = np.arange(len(position))
    around = lookup(index, nearest_above(forest.parent, is_node)[position])
    arrows = _arrows(trace, forest)
    return Nodes(
        position=position,
        self_host=self_time(forest.start[position], forest.end[position], around),
        by_sequence=_by_sequence(trace, forest, position, arrows),
        by_flow=_by_flow(forest, index, is_node, arrows),
    )


def _outermost(trace: Trace, forest: Forest, is_node: Bool) -> Bool:
    """Drop rows nested in a row of the same node (old traces number the inner operators too)."""
    above = nearest_above(forest.parent, is_node)
    sequence = trace.events.sequence[forest.event]
    repeats = is_node & (above >= 0) & (sequence >= 0) & (sequence == lookup(sequence, above))
    return np.asarray(is_node & ~repeats)


@dataclass(frozen=True)
class _Arrows:
    """Ends of the forward-backward arrows that were found in the forest, shape (a,)."""

    forward: Int
    backward: Int


def _arrows(trace: Trace, forest: Forest) -> _Arrows:
    flows = trace.flows
    tail = innermost_at(forest, flows.from_thread.astype(np.int64), flows.from_time)
    head = innermost_at(forest, flows.to_thread.astype(np.int64), flows.to_time)
    whole = (tail >= 0) & (head >= 0)
    return _Arrows(tail[whole], head[whole])


def _by_flow(forest: Forest, index: Int, is_node: Bool, arrows: _Arrows) -> Int:
    found = np.full(int(np.count_nonzero(is_node)), -1, np.int64)
    own = np.where(is_node, np.arange(len(forest)), -1)
    above = nearest_above(forest.parent, is_node)
    target = lookup(index, np.where(own >= 0, own, above)[arrows.backward])
    found[target[target >= 0]] = arrows.forward[target >= 0]
    return found


def _by_sequence(trace: Trace, forest: Forest, position: Int, arrows: _Arrows) -> Int:
    events = trace.events
    sequence = events.sequence[forest.event]
    number = events.forward_thread[forest.event]
    forward = np.flatnonzero((sequence >= 0) & (number <= 0))
    found = np.full(len(position), -1, np.int64)
    for forward_thread in np.unique(number[position][number[position] > 0]):
        asked = np.flatnonzero((number[position] == forward_thread) & (sequence[position] >= 0))
        nodes = position[asked]
        best = _best_thread(trace, forest, forward, nodes, arrows)
        if best is not None:
            found[asked] = _makers(trace, forest, forward, nodes, best)
    return found


def _makers(trace: Trace, forest: Forest, forward: Int, nodes: Int, thread: int) -> Int:
    """The last operator of a thread to start with each node's number before the node ran."""
    sequence = trace.events.sequence[forest.event]
    made = forward[forest.thread[forward] == thread]
    row = last_up_to(sequence[made], forest.start[made], sequence[nodes], forest.start[nodes])
    return lookup(made, row)


def _best_thread(
    trace: Trace, forest: Forest, forward: Int, nodes: Int, arrows: _Arrows
) -> int | None:
    """Which host thread a profiler's thread number stands for, judged by the nodes that bear it."""
    pointed = np.isin(arrows.backward, nodes) | np.isin(forest.parent[arrows.backward], nodes)
    if pointed.any():
        threads, votes = np.unique(forest.thread[arrows.forward[pointed]], return_counts=True)
        return int(threads[np.argmax(votes)])
    threads = np.unique(forest.thread[forward])
    if not len(threads):
        return None

    def score(thread: int) -> tuple[int, int, bool]:
        makers = _makers(trace, forest, forward, nodes, thread)
        same = bool(np.any(forest.thread[nodes] == thread))
        return int(np.count_nonzero(makers >= 0)), _alike(trace, forest, nodes, makers), same

    best = max((int(thread) for thread in threads), key=score)
    return best if score(best)[0] else None


def _alike(trace: Trace, forest: Forest, nodes: Int, makers: Int) -> int:
    """How many nodes bear the name of the operator found for them."""
    linked = makers >= 0
    names = trace.events.name[forest.event]
    pairs = pair_key(names[nodes[linked]].astype(np.int64), names[makers[linked]].astype(np.int64))
    distinct, times = np.unique(pairs, return_counts=True)
    texts = trace.strings
    return sum(
        int(count)
        for pair, count in zip(distinct.tolist(), times.tolist(), strict=True)
        if _stem(node_name(texts[pair >> 32])) == _stem(texts[pair & 0xFFFFFFFF])
    )


def _stem(name: str) -> str:
    last = name.rsplit("::", 1)[-1]
    return re.sub(r"Backward\d*$|_", "", last).lower()


def node_of_rows(forest: Forest, nodes: Nodes) -> Int:
    """Index into `nodes` of the innermost evaluation around each forest row, -1 for none."""
    is_node = np.zeros(len(forest), bool)
    is_node[nodes.position] = True
    index = np.full(len(forest), -1, np.int64)
    index[nodes.position] = np.arange(len(nodes))
    above = nearest_above(forest.parent, is_node)
    own = np.where(is_node, np.arange(len(forest)), above)
    return lookup(index, own)
