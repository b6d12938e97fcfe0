"""Operators by name, module and phase."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.operators import OperatorCalls
from tb_hookview.analysis.selection import Selection
from tb_hookview.tables.events.names import PHASES, Names
from tb_hookview.tables.events.operator_columns import by_module, operator_columns
from tb_hookview.tables.model.values import Arrays, Texts, known


def operators_by_module(selection: Selection) -> Arrays:
    """The table `operators_by_module`: those with a call that began in a selected step."""
    groups = by_module(OperatorCalls(selection))
    analysis, first = selection.analysis, groups.first
    module, names = analysis.attribution.row_module, Names(analysis)
    return Arrays(
        np.arange(len(groups.count)),
        {
            **operator_columns(groups),
            "module": lambda i: names.module(module[first[i]]),
            "module_id": lambda i: known(module[first[i]]),
            "phase": lambda i: Texts(PHASES, analysis.phases.row[first[i]]),
        },
    )
