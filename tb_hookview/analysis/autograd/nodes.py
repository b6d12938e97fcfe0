"""Autograd nodes, and the forward operator of each.

torch numbers nodes per forward thread. An operator records the number the *next* node will get. So
of all operators with a node's number, its forward operator is the last to start before it runs; one
that never makes a node is none, and TorchScript numbers the node of a graph before it runs it.
Which thread that is: `forward_threads.py`.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.autograd.forward_threads import Arrows, Links, forward_threads, named
from tb_hookview.analysis.host.roles import Role
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.arrays.joins import index_of, isin, pair_key, unique
from tb_hookview.arrays.nesting import CallTree, innermost_at, lookup, self_time
from tb_hookview.arrays.types import Bool, Nanoseconds, NodeIndex, TreeRow
from tb_hookview.trace import EventCategory

WITHOUT_NODE = {
    *("aten::detach", "aten::detach_", "aten::item", "aten::_local_scalar_dense"),
    *("aten::is_nonzero", "aten::lift_fresh"),
}
"""Operators that record the next node's number and never make a node themselves."""
_ELSEWHERE = (Role.OPTIMIZER, Role.DATA, Role.FUNCTION_MARK)


def made_nodes(host: HostRows, row_node: NodeIndex) -> Bool:
    """Rows of the call tree, outside of nodes, optimizers and loaders, that made one; shape (n,).

    Args:
        host: host rows.
        row_node: node inside which each row is, -1 for none.
    """
    made, tree = np.zeros(len(host), bool), host.call_tree
    numbered = (host.sequence >= 0) & (host.forward_thread <= 0) & (row_node < 0)
    reached = np.full(len(host.trace.threads), -1, np.int64)
    np.maximum.at(reached, tree.thread[numbered], host.sequence[numbered])
    elsewhere = tree.inside(isin(host.role, [int(role) for role in _ELSEWHERE]))
    rows = np.flatnonzero(numbered & ~elsewhere & ~named(host, WITHOUT_NODE))
    order = np.lexsort((rows, tree.start[rows], host.sequence[rows], tree.thread[rows]))
    rows = rows[order]
    thread, number = tree.thread[rows], host.sequence[rows]
    last = np.append((thread[1:] != thread[:-1]) | (number[1:] != number[:-1]), True)[: len(rows)]
    made[rows] = last & (number < reached[thread])
    return made


_SCRIPT_GRAPH = "DifferentiableGraphBackward"


class Nodes(Struct, frozen=True, dict=True):
    """Evaluations of autograd nodes; arrays of shape (m,), in order of the call tree."""

    row: TreeRow
    """The evaluation."""
    self_host: Nanoseconds
    """Host time less that of evaluations nested in it (a re-entrant backward's)."""
    around: NodeIndex
    """The evaluation in which it is nested, -1 for none."""
    by_sequence: TreeRow
    """Forward operator found by sequence number, -1 for none."""
    by_flow: TreeRow
    """Forward operator found by a forward-backward arrow, -1 for none."""
    by_earlier_number: TreeRow
    """Last operator to start with a lower number than the node's, -1 for none.

    It is only given where no operator has the node's number. A node that torch makes in the middle
    of an operator has such a number: views that change.
    """
    of_row: NodeIndex
    """Innermost evaluation around each row of the call tree, shape (n,); -1 for none."""

    @cached_property
    def forward_op(self) -> TreeRow:
        """Forward operator of each node, -1 for none; sequence numbers first."""
        return np.where(self.by_sequence >= 0, self.by_sequence, self.by_flow)

    def __len__(self) -> int:
        return len(self.row)


def find_nodes(host: HostRows) -> Nodes:
    """Find all node evaluations."""
    rows = np.flatnonzero(host.role == Role.NODE)
    node = _indices(host.call_tree, rows)
    repeats = _repeats(host, rows, node)
    if repeats.any():
        rows = rows[~repeats]
        node = _indices(host.call_tree, rows)
    around = lookup(node, host.call_tree.parent[rows])
    arrows = _arrows(host)
    by_sequence, by_earlier_number = _by_sequence(host, rows, arrows)
    return Nodes(
        row=rows,
        self_host=self_time(host.call_tree.start[rows], host.call_tree.end[rows], around),
        around=around,
        by_sequence=by_sequence,
        by_flow=_by_flow(node, len(rows), arrows),
        by_earlier_number=by_earlier_number,
        of_row=node,
    )


def _repeats(host: HostRows, rows: TreeRow, node: NodeIndex) -> Bool:
    """Rows nested in a row of the same node.

    Old traces number the inner operators too.
    """
    sequence = host.sequence[rows]
    above = lookup(node, host.call_tree.parent[rows])
    return np.asarray((above >= 0) & (sequence >= 0) & (sequence == lookup(sequence, above)))


def _indices(call_tree: CallTree, rows: TreeRow) -> NodeIndex:
    """Index of the innermost of some ascending rows that is, or is around, each row."""
    wanted = np.zeros(len(call_tree), bool)
    wanted[rows] = True
    index = index_of(rows, len(call_tree))
    return lookup(index, call_tree.nearest(wanted))


def _arrows(host: HostRows) -> Arrows:
    flows = host.trace.flows
    tail = innermost_at(host.call_tree, flows.from_thread.astype(np.int64), flows.from_time)
    head = innermost_at(host.call_tree, flows.to_thread.astype(np.int64), flows.to_time)
    whole = (tail >= 0) & (head >= 0)
    return Arrows(tail[whole], head[whole])


def _by_flow(node: NodeIndex, count: int, arrows: Arrows) -> TreeRow:
    found = np.full(count, -1, np.int64)
    target = node[arrows.backward]
    found[target[target >= 0]] = arrows.forward[target >= 0]
    return found


def _by_sequence(host: HostRows, rows: TreeRow, arrows: Arrows) -> tuple[TreeRow, TreeRow]:
    sequence, number = host.sequence, host.forward_thread
    forward = np.flatnonzero((sequence >= 0) & (number <= 0))
    numbered = np.flatnonzero((number[rows] > 0) & (sequence[rows] >= 0))
    process = host.process[host.call_tree.thread]
    groups = pair_key(process[rows[numbered]], number[rows[numbered]])
    found = np.full(len(rows), -1, np.int64)
    earlier = found.copy()
    members = {int(group): numbered[groups == group] for group in unique(groups)}
    nodes = {group: rows[chosen] for group, chosen in members.items()}
    links = Links(host, forward, process, arrows)
    graphs = _script_graphs(host, rows)
    makes_none = named(host, WITHOUT_NODE)
    for group, thread in forward_threads(links, nodes).items():
        mine, in_graph = members[group], graphs[members[group]]
        found[mine] = links.forward_ops(nodes[group], thread)
        without = mine[found[mine] < 0]
        earlier[without] = links.ops_before(rows[without], thread)
        found[mine[lookup(makes_none.astype(np.int64), found[mine]) > 0]] = -1
        found[mine[in_graph]] = links.graph_runs(nodes[group][in_graph], thread)
    return found, earlier


def _script_graphs(host: HostRows, rows: TreeRow) -> Bool:
    """Whether each of some nodes is a differentiable graph of TorchScript's."""
    texts, strings = host.trace.strings, host.string[rows]
    graphs = [s for s in unique(strings).tolist() if texts[s].endswith(_SCRIPT_GRAPH)]
    return isin(strings, graphs)


def _keeps_graph(host: HostRows, nodes: Nodes) -> Bool:
    """Whether each node's own work builds a graph: its last operator has a sequence number.

    What a node runs again for a checkpoint comes first, and its own operators after that.
    """
    around = host.operator_around
    direct = (host.kind == EventCategory.OPERATOR) & (host.role == Role.NONE)
    direct &= (nodes.of_row >= 0) & (host.forward_thread <= 0)
    of_node = (lookup(host.forward_thread, around) > 0) | (lookup(host.role, around) == Role.NODE)
    rows = np.flatnonzero(direct & of_node)
    last = np.full(len(nodes), -1, np.int64)
    last[nodes.of_row[rows]] = rows  # of several rows the last one
    nested = np.zeros(len(nodes), bool)
    nested[nodes.around[nodes.around >= 0]] = True
    return np.asarray((lookup(host.sequence, last) >= 0) & (last >= 0) & ~nested)


def recomputed_operators(host: HostRows, nodes: Nodes) -> Bool:
    """Rows of the call tree inside a forward operator that runs within a node.

    Only a forward that builds a graph has sequence numbers: one run again for a checkpoint, or a
    backward that is itself to be differentiated. The latter makes nodes that are evaluated later,
    outside of the one it ran in. In a trace that has any of these, no row counts as recomputed.
    Nor does one in a node whose own work builds a graph: `torch.func.grad` keeps one always.
    """
    row_node = nodes.of_row
    forward = (row_node >= 0) & (host.sequence >= 0) & (host.forward_thread <= 0)
    forward &= lookup(_keeps_graph(host, nodes).astype(np.int64), row_node) != 1
    forward_ops = nodes.forward_op
    inside = lookup(row_node, forward_ops)
    if not forward.any() or np.any((inside >= 0) & (nodes.around != inside)):
        return np.zeros(len(host), bool)
    is_node = np.zeros(len(host), bool)
    is_node[nodes.row] = True
    return np.asarray(lookup(~is_node, host.call_tree.nearest(forward | is_node)) > 0)
