"""Operators by name and input shapes."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.operators import OperatorCalls
from tb_hookview.analysis.selection import Selection
from tb_hookview.tables.events.operator_columns import by_shape, operator_columns, text_column
from tb_hookview.tables.model.values import Arrays


def operators_by_shape(selection: Selection) -> Arrays:
    """The table `operators_by_shape`: those with a call that began in a selected step."""
    groups = by_shape(OperatorCalls(selection))
    return Arrays(
        np.arange(len(groups.count)),
        {
            **operator_columns(groups),
            "shapes": text_column(groups, "shapes"),
            "types": text_column(groups, "types"),
        },
    )
