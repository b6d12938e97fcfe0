"""Autograd nodes, and the forward operator that made each of them.

torch numbers nodes per forward thread. An operator records the number the *next* node will get, so
of all operators with a node's number the one that made it is the last to start before the node
runs. Which thread is meant is another question: `forward_threads.py`.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.autograd.forward_threads import Arrows, Links, forward_threads
from tb_hookview.analysis.host.roles import Role
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.arrays.joins import pair_key, unique
from tb_hookview.arrays.nesting import CallTree, innermost_at, lookup, self_time
from tb_hookview.arrays.types import Bool, Int
from tb_hookview.trace import Trace


class Nodes(Struct, frozen=True, dict=True):
    """Evaluations of autograd nodes; arrays of shape (m,), in forest order."""

    row: Int
    """Forest position of the evaluation."""
    self_host: Int
    """Host time less that of evaluations nested in it (a re-entrant backward's), nanoseconds."""
    around: Int
    """Index of the evaluation in which it is nested, -1 for none."""
    by_sequence: Int
    """Forest position of the forward operator found by sequence number, -1 for none."""
    by_flow: Int
    """The same, found by a forward-backward arrow."""
    by_earlier_number: Int
    """Where no operator has a node's number: the last to start with a lower one, else -1.

    A node that torch makes in the middle of an operator has such a number: views that change.
    """
    of_row: Int
    """Index of the innermost evaluation around each forest row, shape (n,); -1 for none."""

    @cached_property
    def forward_op(self) -> Int:
        """Row of the forward operator that made each node, -1 for none; sequence numbers first."""
        return np.where(self.by_sequence >= 0, self.by_sequence, self.by_flow)

    def __len__(self) -> int:
        return len(self.row)


def find_nodes(host: HostRows) -> Nodes:
    """Find all node evaluations."""
    position = np.flatnonzero(host.role == Role.NODE)
    node = _indices(host.call_tree, position)
    repeats = _repeats(host, position, node)
    if repeats.any():
        position = position[~repeats]
        node = _indices(host.call_tree, position)
    around = lookup(node, host.call_tree.parent[position])
    arrows = _arrows(host)
    by_sequence, by_earlier_number = _by_sequence(host, position, arrows)
    return Nodes(
        row=position,
        self_host=self_time(host.call_tree.start[position], host.call_tree.end[position], around),
        around=around,
        by_sequence=by_sequence,
        by_flow=_by_flow(node, len(position), arrows),
        by_earlier_number=by_earlier_number,
        of_row=node,
    )


def _repeats(host: HostRows, rows: Int, node: Int) -> Bool:
    """Rows nested in a row of the same node (old traces number the inner operators too)."""
    sequence = host.sequence[rows]
    above = lookup(node, host.call_tree.parent[rows])
    return np.asarray((above >= 0) & (sequence >= 0) & (sequence == lookup(sequence, above)))


def _indices(call_tree: CallTree, rows: Int) -> Int:
    """Index of the innermost of some rows, in forest order, that is or is around each row."""
    wanted = np.zeros(len(call_tree), bool)
    wanted[rows] = True
    index = np.full(len(call_tree), -1, np.int64)
    index[rows] = np.arange(len(rows))
    return lookup(index, call_tree.nearest(wanted))


def _arrows(host: HostRows) -> Arrows:
    flows = host.trace.flows
    tail = innermost_at(host.call_tree, flows.from_thread.astype(np.int64), flows.from_time)
    head = innermost_at(host.call_tree, flows.to_thread.astype(np.int64), flows.to_time)
    whole = (tail >= 0) & (head >= 0)
    return Arrows(tail[whole], head[whole])


def _by_flow(node: Int, count: int, arrows: Arrows) -> Int:
    found = np.full(count, -1, np.int64)
    target = node[arrows.backward]
    found[target[target >= 0]] = arrows.forward[target >= 0]
    return found


def _by_sequence(host: HostRows, position: Int, arrows: Arrows) -> tuple[Int, Int]:
    sequence, number = host.sequence, host.forward_thread
    forward = np.flatnonzero((sequence >= 0) & (number <= 0))
    numbered = np.flatnonzero((number[position] > 0) & (sequence[position] >= 0))
    process = _process(host.trace)[host.call_tree.thread]
    groups = pair_key(process[position[numbered]], number[position[numbered]])
    found = np.full(len(position), -1, np.int64)
    earlier = found.copy()
    members = {int(group): numbered[groups == group] for group in unique(groups)}
    nodes = {group: position[rows] for group, rows in members.items()}
    links = Links(host, forward, process, arrows)
    for group, thread in forward_threads(links, nodes).items():
        found[members[group]] = links.forward_ops(nodes[group], thread)
        without = members[group][found[members[group]] < 0]
        earlier[without] = links.ops_before(position[without], thread)
    return found, earlier


def _process(trace: Trace) -> Int:
    """A number for the process of each thread of the trace."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(t.pid, len(numbers)) for t in trace.threads], np.int64)


def recomputed_operators(host: HostRows, nodes: Nodes, row_node: Int) -> Bool:
    """Say of each forest row whether it is inside a forward operator that runs within a node.

    Only a forward that builds a graph has sequence numbers: one run again for a checkpoint, or a
    backward that is itself to be differentiated. The latter makes nodes that are evaluated later,
    outside of the one it ran in; in a trace that has any of these, nothing is called recomputed.
    """
    forward = (row_node >= 0) & (host.sequence >= 0) & (host.forward_thread <= 0)
    forward_ops = nodes.forward_op
    inside = lookup(row_node, forward_ops)
    if not forward.any() or np.any((inside >= 0) & (nodes.around != inside)):
        return np.zeros(len(host), bool)
    is_node = np.zeros(len(host), bool)
    is_node[nodes.row] = True
    return np.asarray(lookup(~is_node, host.call_tree.nearest(forward | is_node)) > 0)
