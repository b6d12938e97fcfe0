"""Work of a host thread where the model runs on the CPU: operators, and calls around them."""

from __future__ import annotations

import re

import numpy as np

from tb_hookview.analysis.host.roles import Role, node_name
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, Int, StringIndex, TimeSet
from tb_hookview.rules.engine.context import Context
from tb_hookview.trace import EventCategory

_COMPILED = re.compile(r"Torch-Compiled Region|## Call CompiledFxGraph|Compiled\w*Backward")
_BUILT_IN_NODE = re.compile(r"\w+Backward\d+")


def computing(context: Context) -> Bool:
    """Rows of code that is not Python's: operators, C++ nodes and compiled code, shape (n,).

    A node that is written in Python, and a range that somebody put around code, are not.
    """
    host = context.host
    operators = (host.kind == EventCategory.OPERATOR) & (host.role == Role.NONE)
    return np.asarray((operators & context.rows.passing(_is_native)) | _compiled(context))


def _is_native(name: str) -> bool:
    return "::" in name or _BUILT_IN_NODE.fullmatch(name) is not None


def _compiled(context: Context) -> Bool:
    return context.rows.passing(lambda name: _COMPILED.match(name) is not None)


def units(context: Context) -> Bool:
    """Outermost rows of what computes, and autograd nodes whole; in measured steps."""
    whole = computing(context) | (context.host.role == Role.NODE)
    above = lookup(context.rows.inside(whole).astype(np.int64), context.call_tree.parent)
    return np.asarray(whole & (above != 1) & context.rows.counted)


def units_of_python_nodes(context: Context) -> Bool:
    """Outermost rows of what computes in autograd nodes that are written in Python."""
    nodes, own = context.analysis.nodes, computing(context)
    texts = context.analysis.trace.strings
    names = [node_name(texts[each]) for each in context.host.string[nodes.row].tolist()]
    in_python = lookup(
        np.array([not _is_native(name) for name in names]), context.analysis.row_node
    )
    above = lookup(context.rows.inside(own).astype(np.int64), context.call_tree.parent)
    return np.asarray(own & (in_python == 1) & (above != 1) & context.rows.counted)


def unit_names(context: Context, rows: Int) -> StringIndex:
    """Name of each unit, as an index into the trace's strings; equal for nodes of one name."""
    string, texts = context.host.string[rows], context.analysis.trace.strings
    number = {node_name(texts[each]): each for each in unique(string).tolist()}
    same = {each: number[node_name(texts[each])] for each in unique(string).tolist()}
    table = np.zeros(len(texts), np.int64)
    table[list(same)] = list(same.values())
    return np.asarray(table[string])


def without_operators(context: Context, thread: int) -> TimeSet:
    """Time of a thread, in measured steps, in no operator, loader or collective."""
    known = computing(context) | (context.host.role == Role.DATA)
    known |= context.host.role == Role.COLLECTION
    rows = np.flatnonzero(known & (context.call_tree.thread == thread))
    tree = context.call_tree
    steps = intervals.normal(context.steps.windows)
    left = intervals.subtract(steps, intervals.of(tree.start[rows], tree.end[rows]))
    return intervals.subtract(left, context.analysis.communication_waits)
