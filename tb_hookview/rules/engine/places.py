"""Host rows by the module and the node or outermost operator around them."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.host.roles import node_name
from tb_hookview.arrays.joins import unique_inverse
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Int, ModuleIndex, StringIndex, TreeRow
from tb_hookview.rules.engine.context import Context


def places_of(
    context: Context, rows: TreeRow, operator: TreeRow | None = None
) -> dict[tuple[int, str], Int]:
    """Indices into `rows` (of the call tree) by module (-1 for none) and by node or operator.

    A row in no operator stands for itself. The place whose first row starts first is first.

    Args:
        context: the trace.
        rows: rows of the call tree.
        operator: the operator around each that names it, -1 for none; by default the outermost.
    """
    if not len(rows):
        return {}
    texts = context.analysis.trace.strings
    module, string = place_of(context, rows, operator)
    places, group = unique_inverse(module * len(texts) + string)
    order = np.argsort(group, kind="stable")
    last = np.cumsum(np.bincount(group))
    first = np.concatenate([[0], last[:-1]])
    begun = np.minimum.reduceat(context.call_tree.start[rows][order], first)
    found = {}
    columns = (column.tolist() for column in (places, begun, first, last))
    for place, start, begin, end in zip(*columns, strict=True):
        module_of, name = divmod(place, len(texts))
        found[module_of, node_name(texts[name])] = start, order[begin:end]
    return {place: found[place][1] for place in sorted(found, key=lambda p: (found[p][0], str(p)))}


def place_of(
    context: Context, rows: TreeRow, operator: TreeRow | None = None
) -> tuple[ModuleIndex, StringIndex]:
    """Module of each row, -1 for none, and the name of its node or operator, as `places_of`."""
    analysis, host = context.analysis, context.host
    operator = context.rows.outermost_operator_of(rows) if operator is None else operator
    node = lookup(analysis.nodes.row, analysis.row_node[rows])
    asked = np.where(node >= 0, node, np.where(operator >= 0, operator, rows))
    return analysis.attribution.row_module[rows], host.string[asked]
