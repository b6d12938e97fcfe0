"""Autograd nodes, and the forward operator of each: by sequence number, thread or name.

torch numbers nodes per forward thread. An operator records the number the *next* node will get. So
of all operators with a node's number, its forward operator is the last to start before it runs; one
that never makes a node is none, and TorchScript numbers the node of a graph before it runs it.
Which thread that is: `forward_threads.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.host.rows import HostRows, Role, node_name
from tb_hookview.arrays.joins import (
    asof,
    index_of,
    isin,
    mask_of,
    pair_key,
    scatter,
    unique,
    unique_counts,
    unique_inverse,
)
from tb_hookview.arrays.nesting import CallTree, innermost_at, lookup, self_time
from tb_hookview.arrays.types import Bool, Int, Nanoseconds, NodeIndex, TreeRow
from tb_hookview.trace import EventCategory

# The host thread of each `Fwd thread id`.
#
# It is a number of the profiler's own, and no field maps it. A forward-backward arrow from a thread
# to a node with the number decides. Without arrows, each thread is scored:
#
# 1. by how many of the nodes' sequence numbers its operators cover
# 2. by how many nodes have the name of the operator found for them
# 3. by whether the nodes ran on that thread itself
#
# Every number is another thread of the same process. Two threads of equal score leave a number
# undecided.


Score = tuple[int, int, bool]
_LEFT_OF_NODES = 1 / 20
"""Operators in no node, to those in nodes, that a device's thread has where one is cut off."""
_GRAPH_RUN = "<forward op>"
"""Row in which TorchScript runs the forward of a differentiable graph."""


class Arrows(Struct, frozen=True):
    """Ends of the forward-backward arrows that were found in the call tree, shape (a,)."""

    forward: TreeRow
    backward: TreeRow


class Links(Struct, frozen=True):
    """Operators and arrows by which threads are scored."""

    host: HostRows
    forward: TreeRow
    """Operators that record a sequence number."""
    process: Int
    """A number for the process of each row of the call tree."""
    arrows: Arrows

    def forward_ops(self, nodes: TreeRow, thread: int) -> TreeRow:
        """A thread's last operator with each node's number before the node ran."""
        sequence, start = self.host.sequence, self.host.call_tree.start
        made = self.forward[self.host.call_tree.thread[self.forward] == thread]
        row = asof(sequence[made], start[made], sequence[nodes], start[nodes])
        return lookup(made, row)

    def ops_before(self, nodes: TreeRow, thread: int) -> TreeRow:
        """The last operator of a thread to start before torch gave out each node's number."""
        sequence, start = self.host.sequence, self.host.call_tree.start
        made = self.forward[self.host.call_tree.thread[self.forward] == thread]
        same = np.zeros(len(made), np.int64)
        row = lookup(made, asof(same, sequence[made], np.zeros_like(nodes), sequence[nodes]))
        return np.where((row >= 0) & (start[row] <= start[nodes]), row, -1)

    def graph_runs(self, nodes: TreeRow, thread: int) -> TreeRow:
        """A thread's first run of a TorchScript graph after torch gave out each node's number.

        torch numbers a `DifferentiableGraphBackward` before the graph runs, and the run's row has
        no number. Operators that do have it come before, and made no node.
        """
        host, tree = self.host, self.host.call_tree
        runs = np.flatnonzero(host.is_named(_GRAPH_RUN.__eq__) & (tree.thread == thread))
        before = self.ops_before(nodes, thread)
        after = np.searchsorted(tree.start[runs], lookup(tree.start, before), side="right")
        found = lookup(np.append(runs, -1), np.where(before >= 0, after, -1))
        return np.where(lookup(tree.start, found) < tree.start[nodes], found, -1)

    def pointed(self, nodes: TreeRow) -> int | None:
        """The thread from which most arrows to the nodes start."""
        inner = self.host.call_tree.parent[self.arrows.backward]
        to_nodes = isin(self.arrows.backward, nodes) | isin(inner, nodes)
        if not to_nodes.any():
            return None
        source = self.host.call_tree.thread[self.arrows.forward[to_nodes]]
        threads, votes = unique_counts(source)
        return int(threads[np.argmax(votes)])

    def scores(self, nodes: TreeRow) -> dict[int, Score]:
        """Score of each thread of the nodes' process that covers any of them."""
        same_process = self.process[self.forward] == self.process[nodes[0]]
        threads = unique(self.host.call_tree.thread[self.forward[same_process]]).tolist()
        scores = {}
        for thread in threads:
            forward_ops = self.forward_ops(nodes, thread)
            covered = int(np.count_nonzero(forward_ops >= 0))
            if covered:
                own = bool(np.any(self.host.call_tree.thread[nodes] == thread))
                scores[thread] = (covered, self._alike(nodes, forward_ops), own)
        return scores

    def _alike(self, nodes: TreeRow, forward_ops: TreeRow) -> int:
        """Number of nodes with the name of the operator found for them."""
        linked = forward_ops >= 0
        names = self.host.string
        pairs = pair_key(names[nodes[linked]], names[forward_ops[linked]])
        distinct, times = unique_counts(pairs)
        texts = self.host.trace.strings
        return sum(
            count
            for pair, count in zip(distinct.tolist(), times.tolist(), strict=True)
            if stem(node_name(texts[pair >> 32])) == stem(texts[pair & 0xFFFFFFFF])
        )


def forward_threads(links: Links, nodes: Mapping[int, TreeRow]) -> dict[int, int]:
    """Decide the thread of each group of nodes (those of one process and number).

    Args:
        links: operators and arrows by which threads are scored.
        nodes: evaluations of each group's nodes.

    Returns:
        Thread by group; undecided groups are left out.
    """
    decided = {
        group: thread
        for group, rows in nodes.items()
        if (thread := links.pointed(rows)) is not None
    }
    open_groups = {group: links.scores(nodes[group]) for group in nodes if group not in decided}
    while open_groups:
        taken = set(decided.values())
        for scores in open_groups.values():
            for thread in taken & scores.keys():
                del scores[thread]
        group = max(open_groups, key=lambda g: max(open_groups[g].values(), default=(0, 0, False)))
        scores = open_groups.pop(group)
        best = max(scores.values(), default=None)
        fitting = [thread for thread, score in scores.items() if score == best]
        if len(fitting) == 1:
            decided[group] = fitting[0]
    return decided


def stem(name: str) -> str:
    """Name of a node or an operator without what tells them apart."""
    last = name.rsplit("::", 1)[-1]
    return re.sub(r"Backward\d*$|_", "", last).lower()


# The forward of nodes that have no sequence numbers (torch 1.7), found by names.
#
# A backward pass is what nodes run until an operator with the name of one of them starts:
#
#     main      [conv2d][relu][view]               [conv2d][relu][view]
#     autograd                      [View'][Relu']                     [View'][Relu']
#               |---- forward -----||--- pass ---||---- forward ------||--- pass ---|
#
# A name counts where as many operators as nodes have it: an `aten::add` that makes no node leaves
# `AddBackward0` out. The forward lies between the first operator of a name that counts and the
# pass, on the operator's thread. It is unknown where less than half of the pass's nodes have such
# a name.


_NO_FORWARD = (Role.OPTIMIZER, Role.DATA, Role.FUNCTION_MARK)
_SINKS = ("accumulategrad", "graphroot")
"""Stems of nodes that no operator makes."""
_KNOWN = 0.5


class _Passes(Struct, frozen=True):
    """Backward passes in order of time: nodes by start, and operators of the same names."""

    node: TreeRow
    of_node: Int
    """Number of the pass of each node, ascending."""
    operator: TreeRow
    of_operator: Int
    """Number of the pass ahead of each operator."""

    def ahead(self, host: HostRows) -> Int:
        """Pass ahead of each row that ends before it starts; -1 for none, and within a pass."""
        start = host.call_tree.start[self.node]
        following = np.searchsorted(start, host.call_tree.start)
        number = np.append(self.of_node, -1)[following]
        opens = number > np.append(-1, self.of_node)[following]
        ends = np.append(start, 0)[following]
        return np.where(opens & (host.call_tree.end <= ends), number, -1)


def forward_by_name(host: HostRows, row_node: NodeIndex) -> tuple[Bool, int]:
    """Rows of the forward, and the number of passes whose forward is unknown.

    Args:
        host: host rows, none with a sequence number.
        row_node: node inside which each row is, -1 for none.
    """
    stems = _stems(host)
    passes = _passes(host, row_node, stems)
    if not len(passes.node):
        return np.zeros(len(host), bool), 0
    counts, known = _counted(passes, stems)
    first = _outermost(host, passes.operator[counts])
    thread, start = host.call_tree.thread, host.call_tree.start
    ahead = passes.ahead(host)
    row = np.flatnonzero((ahead >= 0) & (row_node < 0) & ~_elsewhere(host))
    opened = asof(
        pair_key(passes.of_operator[counts], thread[first]),
        start[first],
        pair_key(ahead[row], thread[row]),
        start[row],
    )
    forward = np.zeros(len(host), bool)
    forward[row] = opened >= 0
    return forward, int(np.count_nonzero(~known))


def _stems(host: HostRows) -> Int:
    """A number for the stem of each row's name: that of nodes and operators; -1 for other rows."""
    numbers = {name: number for number, name in enumerate(_SINKS)}
    rows = np.flatnonzero((host.kind == EventCategory.OPERATOR) | (host.role == Role.NODE))

    def number(name: str) -> int:
        return numbers.setdefault(stem(node_name(name)), len(numbers))

    return scatter(rows, host.trace.strings.map(host.string[rows], number, np.int64), len(host))


def _passes(host: HostRows, row_node: NodeIndex, stems: Int) -> _Passes:
    start = host.call_tree.start
    node = np.flatnonzero(host.role == Role.NODE)
    node = node[np.argsort(start[node], kind="stable")]
    named = (host.role == Role.NONE) & (row_node < 0) & (stems >= 0) & ~_elsewhere(host)
    named &= isin(stems, unique(stems[node]))
    operator = np.flatnonzero(named)
    around = host.call_tree.nearest_above(named)[operator]
    operator = operator[lookup(stems, around) != stems[operator]]
    following = np.searchsorted(start[node], start[operator])
    opens = mask_of(following, len(node) + 1)
    number = np.cumsum(opens, dtype=np.int64)
    before = following < len(node)
    return _Passes(node, number[:-1], operator[before], number[following[before]])


def _elsewhere(host: HostRows) -> Bool:
    return host.call_tree.inside(isin(host.role, _NO_FORWARD))


def _counted(passes: _Passes, stems: Int) -> tuple[Bool, Bool]:
    """Operators whose name counts in a pass of known forward, and passes of known forward."""
    made = stems[passes.node] >= len(_SINKS)
    key = pair_key(
        np.concatenate([passes.of_node[made], passes.of_operator]),
        np.concatenate([stems[passes.node[made]], stems[passes.operator]]),
    )
    _, group = unique_inverse(key)
    of_node, of_operator = np.split(group, [np.count_nonzero(made)])
    groups = int(group.max(initial=-1)) + 1
    equal = np.bincount(of_node, minlength=groups) == np.bincount(of_operator, minlength=groups)
    numbers, place = unique_inverse(passes.of_node)
    nodes = np.bincount(place[made], minlength=len(numbers))
    counted = np.bincount(place[made], weights=equal[of_node], minlength=len(numbers))
    known = (nodes > 0) & (counted >= _KNOWN * nodes)
    return equal[of_operator] & isin(passes.of_operator, numbers[known]), known


def _outermost(host: HostRows, rows: TreeRow) -> TreeRow:
    """Outermost operator with a namespace around each row: `aten::conv2d`, and no annotation."""
    spaced = (host.kind == EventCategory.OPERATOR) & host.is_named(lambda text: "::" in text)
    above = host.call_tree.nearest_above(spaced)
    found = rows
    while (above[found] >= 0).any():
        found = np.where(above[found] >= 0, above[found], found)
    return found


WITHOUT_NODE = {
    *("aten::detach", "aten::detach_", "aten::item", "aten::_local_scalar_dense"),
    *("aten::is_nonzero", "aten::lift_fresh"),
}
"""Operators that record the next node's number and never make a node themselves."""


def made_nodes(host: HostRows, row_node: NodeIndex) -> Bool:
    """Rows of the call tree, outside of nodes, optimizers and loaders, that made one; shape (n,).

    Args:
        host: host rows.
        row_node: node inside which each row is, -1 for none.
    """
    made, tree = np.zeros(len(host), bool), host.call_tree
    numbered = (host.sequence >= 0) & (host.forward_thread <= 0)
    reached = np.full(len(host.trace.threads), -1, np.int64)
    np.maximum.at(reached, tree.thread[numbered], host.sequence[numbered])
    rows = np.flatnonzero(numbered & ~_elsewhere(host) & ~host.is_named(WITHOUT_NODE.__contains__))
    order = np.lexsort((rows, tree.start[rows], host.sequence[rows], tree.thread[rows]))
    rows = rows[order]
    thread, number = tree.thread[rows], host.sequence[rows]
    last = np.append((thread[1:] != thread[:-1]) | (number[1:] != number[:-1]), True)[: len(rows)]
    made[rows] = last & (number < reached[thread]) & (row_node[rows] < 0)
    return made


_SCRIPT_GRAPH = "DifferentiableGraphBackward"
_EVALUATES = "autograd::engine::evaluate_function"
"""What names of rows begin with in which the engine evaluates a node, since torch 1.10."""
_ENGINES = frozenset(
    {
        *("aten::sum", "aten::add", "aten::add_"),
        *("aten::view", "aten::reshape", "aten::to"),
    }
)
"""What the engine itself runs: it sums gradients that were broadcast or meet, and fits them."""


class Nodes(Struct, frozen=True, dict=True):
    """Evaluations of autograd nodes; arrays of shape (m,), in order of the call tree."""

    row: TreeRow
    """The evaluation."""
    self_host: Nanoseconds
    """Host time less that of evaluations nested in it (a re-entrant backward's), with what the
    engine ran after it."""
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
    """Innermost evaluation around each row of the call tree, or after which the engine ran it,
    shape (n,); -1 for none."""

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
    target = node[arrows.backward]
    by_sequence, by_earlier_number = _by_sequence(host, rows, arrows)
    self_host = self_time(host.call_tree.start[rows], host.call_tree.end[rows], around)
    ran, after = _run_by_engine(host, rows[around < 0], node)
    np.add.at(self_host, after, host.call_tree.duration[ran])
    above = host.call_tree.nearest(mask_of(ran, len(host)))
    node = np.where(above >= 0, lookup(scatter(ran, after, len(host)), above), node)
    return Nodes(
        row=rows,
        self_host=self_host,
        around=around,
        by_sequence=by_sequence,
        by_flow=scatter(target[target >= 0], arrows.forward[target >= 0], len(rows)),
        by_earlier_number=by_earlier_number,
        of_row=node,
    )


def _run_by_engine(host: HostRows, outer: TreeRow, node: NodeIndex) -> tuple[TreeRow, NodeIndex]:
    """Operators that the engine ran between two nodes of a pass, and the node before each.

    Where it has rows of its own, they are inside of these. Only what is its own lies between: a
    pass begins with a gradient that is made, and its forward has sequence numbers.

    Args:
        host: host rows.
        outer: evaluations in no other.
        node: innermost evaluation around each row, -1 for none.
    """
    tree = host.call_tree
    engines = (host.kind == EventCategory.OPERATOR) & (host.sequence < 0) & (node < 0)
    engines &= host.is_named(_ENGINES.__contains__)
    if not engines.any() or host.is_named(lambda name: name.startswith(_EVALUATES)).any():
        return outer[:0], outer[:0]
    top = engines & (tree.nearest_above(engines) < 0)
    is_node = mask_of(outer, len(host))
    others = np.flatnonzero(is_node | ((node < 0) & ~tree.inside(engines)))
    ran = np.flatnonzero(top)
    place = np.searchsorted(others, ran)
    between = np.stack([np.append(-1, others)[place], np.append(others, -1)[place]])
    mine = (lookup(is_node, between.ravel()).reshape(between.shape) > 0).all(axis=0)
    for rows in between:
        mine &= lookup(tree.parent, rows) == tree.parent[ran]
        mine &= lookup(tree.thread, rows) == tree.thread[ran]
    return ran[mine], np.asarray(node[between[0][mine]])


def of_device_threads(host: HostRows, nodes: Nodes) -> int:
    """Count the nodes that a thread evaluated which autograd has for a device alone.

    It runs hardly anything but nodes, of another thread's forward, which evaluates none itself: on
    a CPU the thread that calls `backward()` does. What else it runs may be left of a node that is
    cut off.
    """
    thread, operators = host.call_tree.thread, host.kind == EventCategory.OPERATOR
    evaluates = mask_of(thread[nodes.row], len(host.trace.threads))
    in_nodes, outside = (
        np.bincount(thread[operators & chosen], minlength=len(host.trace.threads))
        for chosen in (nodes.of_row >= 0, nodes.of_row < 0)
    )
    others = outside > _LEFT_OF_NODES * in_nodes
    mine, forward = thread[nodes.row], lookup(thread, nodes.forward_op)
    away = (forward >= 0) & (lookup(evaluates, forward) == 0)
    return int(np.count_nonzero(away & ~others[mine]))


def _repeats(host: HostRows, rows: TreeRow, node: NodeIndex) -> Bool:
    """Rows nested in a row of the same node.

    Old traces number the inner operators too.
    """
    sequence = host.sequence[rows]
    above = lookup(node, host.call_tree.parent[rows])
    return np.asarray((above >= 0) & (sequence >= 0) & (sequence == lookup(sequence, above)))


def _indices(call_tree: CallTree, rows: TreeRow) -> NodeIndex:
    """Index of the innermost of some ascending rows that is, or is around, each row."""
    wanted = mask_of(rows, len(call_tree))
    index = index_of(rows, len(call_tree))
    return lookup(index, call_tree.nearest(wanted))


def _arrows(host: HostRows) -> Arrows:
    flows = host.trace.flows
    tail = innermost_at(host.call_tree, flows.from_thread.astype(np.int64), flows.from_time)
    head = innermost_at(host.call_tree, flows.to_thread.astype(np.int64), flows.to_time)
    whole = (tail >= 0) & (head >= 0)
    return Arrows(tail[whole], head[whole])


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
    texts = host.trace.strings
    graphs = texts.map(host.string[rows], lambda text: text.endswith(_SCRIPT_GRAPH), bool)
    makes_none = host.is_named(WITHOUT_NODE.__contains__)
    for group, thread in forward_threads(links, nodes).items():
        mine, in_graph = members[group], graphs[members[group]]
        found[mine] = links.forward_ops(nodes[group], thread)
        without = mine[found[mine] < 0]
        earlier[without] = links.ops_before(rows[without], thread)
        found[mine[lookup(makes_none, found[mine]) > 0]] = -1
        found[mine[in_graph]] = links.graph_runs(nodes[group][in_graph], thread)
    return found, earlier


def _keeps_graph(host: HostRows, nodes: Nodes) -> Bool:
    """Whether each node's own work builds a graph: its last operator has a sequence number.

    What a node runs again for a checkpoint comes first, and its own operators after that.
    """
    around = host.operator_around
    direct = host.operators & (nodes.of_row >= 0) & (host.forward_thread <= 0)
    of_node = (lookup(host.forward_thread, around) > 0) | (lookup(host.role, around) == Role.NODE)
    rows = np.flatnonzero(direct & of_node)
    last = scatter(nodes.of_row[rows], rows, len(nodes))  # of several rows the last one
    nested = mask_of(nodes.around[nodes.around >= 0], len(nodes))
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
    forward &= lookup(_keeps_graph(host, nodes), row_node) != 1
    forward_ops = nodes.forward_op
    inside = lookup(row_node, forward_ops)
    if not forward.any() or np.any((inside >= 0) & (nodes.around != inside)):
        return np.zeros(len(host), bool)
    is_node = mask_of(nodes.row, len(host))
    return np.asarray(lookup(~is_node, host.call_tree.nearest(forward | is_node)) > 0)
