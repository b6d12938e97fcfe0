"""Operators that made an autograd node, whether it is evaluated in the recording or not.

An operator records the number that its thread's *next* node will get. Where a later operator of the
thread has a higher number, a node of the lower one was made meanwhile: by the last operator to
start with it.

    number    4      4      5      5       6
              [view] [mul]  [add]  [item]  [sum]
    made             yes    yes

An `item` never makes a node, and whether `sum` does would show in what follows.
"""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.autograd.forward_threads import named
from tb_hookview.analysis.host.roles import Role
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.arrays.joins import isin
from tb_hookview.arrays.types import Bool, NodeIndex

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
