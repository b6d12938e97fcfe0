"""The forward of nodes that have no sequence numbers (torch 1.7), found by names.

A backward pass is what nodes run until an operator with the name of one of them starts:

    main      [conv2d][relu][view]               [conv2d][relu][view]
    autograd                      [View'][Relu']                     [View'][Relu']
              |---- forward -----||--- pass ---||---- forward ------||--- pass ---|

A name counts where as many operators as nodes have it: an `aten::add` that makes no node leaves
`AddBackward0` out. The forward lies between the first operator of a name that counts and the pass,
on the operator's thread. It is unknown where less than half of the pass's nodes have such a name.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.autograd.forward_threads import stem
from tb_hookview.analysis.host.roles import Role, node_name
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.arrays.joins import asof, isin, pair_key, unique, unique_inverse
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, Int, NodeIndex, TreeRow
from tb_hookview.trace import EventCategory

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
    strings, place = unique_inverse(host.string[rows])
    names = [stem(node_name(host.trace.strings[string])) for string in strings.tolist()]
    found = np.full(len(host), -1, np.int64)
    listed = [numbers.setdefault(name, len(numbers)) for name in names]
    found[rows] = np.array(listed, np.int64)[place]
    return found


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
    opens = np.zeros(len(node) + 1, bool)
    opens[following] = True
    number = np.cumsum(opens)
    before = following < len(node)
    return _Passes(node, number[:-1], operator[before], number[following[before]])


def _elsewhere(host: HostRows) -> Bool:
    return host.call_tree.inside(isin(host.role, [int(role) for role in _NO_FORWARD]))


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
    spaced = np.array(["::" in text for text in host.trace.strings.texts] or [False])
    above = host.call_tree.nearest_above(
        (host.kind == EventCategory.OPERATOR) & spaced[host.string]
    )
    found = rows
    while (above[found] >= 0).any():
        found = np.where(above[found] >= 0, above[found], found)
    return found
