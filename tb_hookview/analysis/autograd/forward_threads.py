"""The host thread of each `Fwd thread id`.

It is a number of the profiler's own, and no field maps it. A forward-backward arrow from a thread
to a node with the number decides. Without arrows, each thread is scored:

1. by how many of the nodes' sequence numbers its operators cover
2. by how many nodes have the name of the operator found for them
3. by whether the nodes ran on that thread itself

Every number is another thread of the same process. Two threads of equal score leave a number
undecided.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.host.roles import node_name
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.arrays.joins import asof, isin, pair_key, unique, unique_counts
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, Int, TreeRow

Score = tuple[int, int, bool]
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
        runs = np.flatnonzero(named(host, {_GRAPH_RUN}) & (tree.thread == thread))
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


def named(host: HostRows, names: Set[str]) -> Bool:
    """Rows of the call tree that have one of these names."""
    wanted = [string for string, text in enumerate(host.trace.strings.texts) if text in names]
    return isin(host.string, wanted)


def stem(name: str) -> str:
    """Name of a node or an operator without what tells them apart."""
    last = name.rsplit("::", 1)[-1]
    return re.sub(r"Backward\d*$|_", "", last).lower()
