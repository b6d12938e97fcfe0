"""Compiled code that is not broken down by modules, by the module around it."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.compiled.names import is_compiled
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.sums import sum_by
from tb_hookview.arrays.types import Bool, TreeRow
from tb_hookview.arrays.units import to_us
from tb_hookview.schema import CompiledLump


def compiled_lumps(selection: Selection) -> dict[int, CompiledLump]:
    """The lump of each module that has one, by its row in the module table."""
    analysis = selection.analysis
    if not any(map(is_compiled, analysis.trace.strings.texts)):
        return {}
    units = analysis.compiled_units
    module = analysis.attribution.row_module[units.row]
    module = np.where(_is_placed(analysis, units.row), -1, module)
    mine = np.flatnonzero(selection.rows[units.row] & (module >= 0))
    size = len(analysis.modules)
    calls = np.bincount(module[mine], minlength=size)
    host = sum_by(module[mine], analysis.call_tree.duration[units.row[mine]], size)
    around = lookup(module, lookup(units.around, analysis.device_events.launch))
    parts = analysis.device_parts.of(selection.device_events & (around >= 0))
    own = np.flatnonzero(parts.module == around[parts.index])
    device = sum_by(parts.module[own], parts.time[own], size)
    known = analysis.launches_known
    return {
        number: CompiledLump(
            calls=int(calls[number]),
            host_us=to_us(host[number]),
            device_us=to_us(device[number]) if known else None,
        )
        for number in np.flatnonzero(calls).tolist()
    }


def _is_placed(analysis: Analysis, row: TreeRow) -> Bool:
    """Whether rows are calls of graphs that the recorder's map places on modules."""
    placed = np.zeros(len(analysis.host), bool)
    if analysis.compiled is not None:
        placement = analysis.compiled.placement
        placed[placement.calls.row[placement.placed]] = True
    return placed[row]
