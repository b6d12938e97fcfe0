"""Operators: which rows are some, and the threads' processor time in them."""

from __future__ import annotations

import re

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


_ON_CPU = re.compile(r"aten::(mkldnn_|_nnpack_spatial|_slow_conv2d_|slow_conv3d|\w+_for_cpu$)")
"""oneDNN, NNPACK, and torch's own loops; a device has convolutions and attention of its own.

CUDA without cuDNN has `_slow_conv2d`, too, and returns from it as soon as it is launched.
"""
_MOST = 0.5
"""Share of the operators' time from which on such operators are the model, and not its inputs."""


def runs_on_cpu(host: HostRows, operators: OperatorRows, in_backward: Bool) -> bool:
    """Whether most of the time of operators is in those that only a CPU runs.

    The backward runs where the forward did, by operators that do not say where. A trace with calls
    of a device's runtime has a device.

    Args:
        host: rows of a trace without device events.
        operators: which of them are operators.
        in_backward: rows inside autograd nodes, shape (n,).
    """
    if (host.trace.events.kind == EventCategory.RUNTIME).any():
        return False
    texts = host.trace.strings.texts
    proves = np.array([_ON_CPU.match(text) is not None for text in texts] or [False])
    known = operators.named & (host.kind == EventCategory.OPERATOR) & ~in_backward
    proven = known & host.call_tree.inside(known & proves[host.string])
    time = operators.self_host
    return bool(proven.any() and time[proven].sum() >= _MOST * time[known].sum())
