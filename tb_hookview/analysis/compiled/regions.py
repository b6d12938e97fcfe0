"""Compiled code in a trace, with or without the recorder's map: which row runs what.

    Torch-Compiled Region: 0/0   >   CompiledFunction   >   ## Call CompiledFxGraph key ##

Of these the innermost is the unit, as far as a version of torch writes them. A unit's operators
are the rows directly inside of it: extern calls, and generated kernels of a device.
"""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.autograd.nodes import Nodes
from tb_hookview.analysis.compiled.calls import regions_of
from tb_hookview.analysis.compiled.names import GRAPH_CALL, REGION
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.arrays.joins import index_of, isin
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, Int, StringIndex, TreeRow
from tb_hookview.trace import EventCategory

_UNITS = (
    GRAPH_CALL,
    re.compile(r"CompiledFunction(Backward)?"),
    re.compile(re.escape(REGION) + r".*"),
)


class CompiledUnits(Struct, frozen=True):
    """Rows that run compiled code; arrays of shape (u,) and (n,)."""

    row: TreeRow
    region: StringIndex
    """Name of the compiled region, -1 for unknown."""
    graph: StringIndex
    """Name of the call of the graph, which holds its key; -1 for unknown."""
    backward: Bool
    around: Int
    """Unit around each row of the call tree, -1 for none."""
    operator: TreeRow
    """Row directly inside a unit that is, or is around, each row; -1 for none."""


def find_compiled_units(host: HostRows, nodes: Nodes) -> CompiledUnits:
    """Find the rows that run compiled code."""
    tree = host.call_tree
    chosen = np.zeros(len(host), bool)
    for pattern in _UNITS:
        wanted = np.zeros(len(host), bool)
        if not len(named := host.named(pattern.fullmatch)):
            continue
        wanted[named] = True
        wanted &= ~host.device_threads[tree.thread] & ~tree.inside(chosen)
        rows = np.flatnonzero(wanted & (tree.nearest_above(wanted) < 0))
        held = np.append(0, np.cumsum(chosen))
        chosen[rows[held[tree.subtree_end[rows]] == held[rows]]] = True
    row = np.flatnonzero(chosen)
    region, backward = regions_of(host, nodes, row)
    is_graph = np.zeros(len(host), bool)
    is_graph[host.named(GRAPH_CALL.fullmatch)] = True
    index = index_of(row, len(host))
    inside = lookup(index, tree.parent) >= 0
    kinds = [int(EventCategory.OPERATOR), int(EventCategory.ANNOTATION)]
    return CompiledUnits(
        row=row,
        region=region,
        graph=np.where(is_graph[row], host.string[row], -1),
        backward=backward,
        around=lookup(index, tree.nearest(chosen)),
        operator=tree.nearest(inside & isin(host.kind, kinds)),
    )
