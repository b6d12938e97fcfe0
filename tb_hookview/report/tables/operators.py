"""The table of operators and annotations by name: calls, host and device time, FLOPs."""

from __future__ import annotations

import numpy as np

from tb_hookview import schema
from tb_hookview.analysis.operators import OperatorCalls
from tb_hookview.analysis.selection import Selection
from tb_hookview.tables.events.operators import by_name, operator_columns
from tb_hookview.tables.model.values import Arrays, listed


def operator_rows(selection: Selection) -> list[schema.Operator]:
    """One row per name, most expensive on the device first, then on the host.

    Calls count where they began in the selection, device events where their launches do.
    """
    calls = OperatorCalls(selection)
    groups = by_name(calls)
    host, device = groups.sum(calls.self_host), groups.sum(calls.self_device)
    order = np.lexsort((groups.first, -host, -device))[: schema.OPERATORS]
    columns = Arrays(order, operator_columns(groups)).take(
        schema.Operator.__struct_fields__, range(len(order))
    )
    return [schema.Operator(*row) for row in zip(*map(listed, columns.values()), strict=True)]
