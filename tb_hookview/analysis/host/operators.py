"""Host rows that are calls of operators and annotations.

Counted as `torch.profiler`'s `key_averages()` counts them. A call whose only row inside is a call
of the same name is one call with it (an operator that calls an overload of itself):

    [aten::to              ]      [aten::to              ]
     [aten::to            ]        [aten::_to_copy] [...]      one call, self time without what
      [aten::_to_copy] [...]                                   lies in the inner one
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.host.roles import MARK_ROLES, Role
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.arrays.joins import isin
from tb_hookview.arrays.nesting import lookup, self_time
from tb_hookview.arrays.types import Bool, Nanoseconds, TreeRow
from tb_hookview.trace import EventCategory

_NO_OPERATORS = (*MARK_ROLES, Role.UNKNOWN_MARK, Role.MODULE_LABEL)


class OperatorRows(Struct, frozen=True):
    """Operators, annotations and runtime calls; columns over rows of the call tree."""

    named: Bool
    """Rows that count: operators and annotations, no marks of the recorder."""
    above: TreeRow
    """Innermost row around each that counts, -1 for none."""
    repeats: Bool
    """Rows that are one call with the row above them."""
    self_host: Nanoseconds
    """Duration less that of the rows inside, runtime calls included; 0 for runtime calls."""


def operator_rows(host: HostRows) -> OperatorRows:
    """Find the rows that are calls of operators and annotations."""
    call_tree = host.call_tree
    named = isin(host.kind, [int(EventCategory.OPERATOR), int(EventCategory.ANNOTATION)])
    named &= ~isin(host.role, [int(role) for role in _NO_OPERATORS])
    timed = named | (host.kind == EventCategory.RUNTIME)
    above = call_tree.nearest_above(timed)
    above[~timed] = -1
    children = np.bincount(above[above >= 0], minlength=len(host))
    repeats = named & (host.kind == EventCategory.OPERATOR) & (lookup(children, above) == 1)
    repeats &= lookup(host.string, above) == host.string
    repeats &= lookup(host.kind.astype(np.int64), above) == EventCategory.OPERATOR
    return OperatorRows(named, above, repeats, self_time(call_tree.start, call_tree.end, above))
