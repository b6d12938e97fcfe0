"""Messages of collectives, where the trace has them (`record_param_comms`)."""

from __future__ import annotations

import re

import numpy as np

from tb_hookview.analysis.host.inputs import width
from tb_hookview.arrays.types import Bool, Int, TreeRow
from tb_hookview.rules.engine.context import Context


def collectives(context: Context, pattern: str = "") -> tuple[TreeRow, Int]:
    """Collectives of several ranks whose name fits, in measured steps.

    Returns:
        Their call tree rows, and the bytes of each one's larger message, -1 for unknown.
    """
    table = context.analysis.trace.collectives
    if not len(table):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    position = np.full(len(context.analysis.trace.events), -1, np.int64)
    position[context.call_tree.event] = np.arange(len(context.call_tree))
    row, elements = position[table.event], np.maximum(table.sent, table.received)
    fitting = {name for name in set(table.collective) if re.search(pattern, name)}
    fits = [name in fitting for name in table.collective]
    known = (row >= 0) & np.array(fits, bool) & (table.group_size > 1) & (elements > 0)
    element = np.array([width(name) for name in table.dtype], np.int64)[known]
    row, size = row[known], np.where(element > 0, elements[known] * element, -1)
    counted = context.rows.counted[row]
    return row[counted], size[counted]


def has_ddp(context: Context) -> bool:
    """Whether DistributedDataParallel marks anything in the trace."""
    return context.any_name(_is_of_ddp)


def _is_of_ddp(name: str) -> bool:
    return "DistributedDataParallel" in name or "reducer::" in name


def transfers_of(context: Context, rows: TreeRow) -> Bool:
    """Communication that some collectives (call tree rows) launched, shape (d,)."""
    asked = np.zeros(len(context.call_tree), bool)
    asked[rows] = True
    return context.device_events.launched_by(
        context.rows.inside(asked)
    ) & context.device_events.of_kinds("communication")
