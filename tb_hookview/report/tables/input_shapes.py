"""Input shapes of each module: those of the first operator in each call."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from tb_hookview import schema
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.joins import grouped
from tb_hookview.arrays.types import TreeRow

SHOWN = 3
"""Shapes of a module, most frequent first, and of these the first to be called."""


def input_shapes(selection: Selection) -> dict[int, list[schema.InputShapes]]:
    """Shapes by module; modules whose calls show none are left out."""
    analysis = selection.analysis
    texts, shapes = analysis.trace.texts, analysis.trace.events.shapes[analysis.call_tree.event]
    call, operator = _first_operators(selection, np.flatnonzero(shapes > 0))
    module, string = analysis.module_calls.module[call], analysis.host.string[operator]
    size = len(analysis.trace.strings)
    key = (module * size + string) * len(texts) + shapes[operator]
    by_time = np.argsort(analysis.call_tree.start[call], kind="stable")
    distinct, first, place = grouped(key[by_time])
    count = np.bincount(place, minlength=len(distinct))
    found: dict[int, list[schema.InputShapes]] = {}
    decoded: dict[int, list[Any] | None] = {}
    order = np.lexsort((first, -count))
    called, shape = np.divmod(distinct[order], len(texts))
    columns = (*np.divmod(called, size), shape, count[order])
    for number, name, text, times in zip(*(each.tolist() for each in columns), strict=True):
        of_module = found.setdefault(number, [])
        if len(of_module) == SHOWN:
            continue
        if text not in decoded:
            decoded[text] = _decoded(texts[text])
        if (dims := decoded[text]) is not None:
            of_module.append(schema.InputShapes(analysis.trace.strings[name], dims, times))
    return found


def _first_operators(selection: Selection, operators: TreeRow) -> tuple[TreeRow, TreeRow]:
    """Calls of modules, and the first of the given operators in each."""
    analysis = selection.analysis
    call_tree = analysis.call_tree
    wanted = (
        (analysis.module_calls.module >= 0) & ~analysis.attribution.row_recompute & selection.rows
    )
    calls = np.flatnonzero(wanted)
    place = np.searchsorted(operators, calls)
    calls, first = calls[place < len(operators)], operators[place[place < len(operators)]]
    # A row that stands after another on its thread and starts before its end is inside it.
    inside = call_tree.thread[first] == call_tree.thread[calls]
    inside &= call_tree.start[first] < call_tree.end[calls]
    return calls[inside], first[inside]


def _decoded(text: str) -> list[Any] | None:
    try:
        dims = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None
    return dims if isinstance(dims, list) else None
