"""FLOPs and utilization of modules, those below each included."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.selection import Selection
from tb_hookview.analysis.utilization import Utilization, utilization
from tb_hookview.arrays.types import Float
from tb_hookview.tables.events.names import Names
from tb_hookview.tables.events.utilization_columns import utilization_columns
from tb_hookview.tables.model.values import Arrays, Numbers, Texts


def module_utilization(selection: Selection) -> Arrays:
    """The table `module_utilization`: every module, parents before children."""
    analysis = selection.analysis
    modules, names = analysis.modules, Names(analysis)
    of_row, of_event = analysis.attribution.row_module, analysis.device_attribution.module
    own = utilization(selection, of_row, of_event, len(modules))
    parents = modules.parent.tolist()
    of = Utilization(*(_with_children(getattr(own, f), parents) for f in own.__struct_fields__))
    return Arrays(
        np.arange(len(modules)),
        {
            **utilization_columns(analysis, of, of.device),
            "id": Numbers,
            "path": names.module,
            "module_class": lambda i: Texts(modules.module_class, i),
        },
    )


def _with_children(values: Float, parents: list[int]) -> Float:
    """Sum over each module and those below it; parents stand before their children."""
    total = values.copy()
    for module in reversed(range(len(parents))):
        if parents[module] >= 0:
            total[parents[module]] += total[module]
    return total
