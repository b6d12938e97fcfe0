"""Host rows by the module and the node or outermost operator around them."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.host.roles import node_name
from tb_hookview.arrays.joins import unique_inverse
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Int, TreeRow
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
    analysis, host = context.analysis, context.host
    if not len(rows):
        return {}
    operator = context.rows.outermost_operator_of(rows) if operator is None else operator
    node = lookup(analysis.nodes.row, analysis.row_node[rows])
    asked = np.where(node >= 0, node, np.where(operator >= 0, operator, rows))
    texts = analysis.trace.strings
    key = analysis.attribution.row_module[rows] * len(texts) + host.string[asked]
    places, group = unique_inverse(key)
    members = np.split(np.argsort(group, kind="stable"), np.cumsum(np.bincount(group))[:-1])
    found = {}
    for place, mine in zip(places.tolist(), members, strict=True):
        module, string = divmod(place, len(texts))
        found[module, node_name(texts[string])] = mine
    start = host.call_tree.start[rows]
    begun = {place: int(start[mine].min()) for place, mine in found.items()}
    return {place: found[place] for place in sorted(found, key=lambda p: (begun[p], str(p)))}
