"""The recorder's marks on the backward pass: whose gradient, and between which marks.

A pair of marks spans what ran between them on one thread:

    before blocks.0 | before blocks.0.fc | MmBackward0 | after blocks.0.fc | after blocks.0
                    |---------------- blocks.0.fc -----|
    |--------------------------- blocks.0 ------------------------------|
"""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.forest import Forest, enclosing, innermost_at, lookup
from tb_hookview.analysis.joins import last_up_to
from tb_hookview.analysis.modules import Modules
from tb_hookview.analysis.names import Role, module_name
from tb_hookview.trace import Trace
from tb_hookview.trace.columns import Int


def marked_modules(trace: Trace, forest: Forest, modules: Modules, rows: Int) -> Int:
    """Module that each mark (a forest row) names, -1 for one that is not in the tree."""
    by_path = {path: number for number, path in enumerate(modules.path)}
    strings = trace.events.name[forest.event[rows]]
    named = {
        string: by_path.get(module_name(trace.strings[string], Role.NONE).path, -1)
        for string in np.unique(strings).tolist()
    }
    return np.array([named[string] for string in strings.tolist()], np.int64)


def module_between_marks(
    trace: Trace, forest: Forest, role: Int, modules: Modules, position: Int
) -> Int:
    """Module between whose marks each of the given forest rows began, innermost; -1 for none."""
    before = np.flatnonzero(role == Role.BEFORE_MARK)
    after = np.flatnonzero(role == Role.AFTER_MARK)
    opened = marked_modules(trace, forest, modules, before)
    closed = marked_modules(trace, forest, modules, after)
    size = len(modules) + 1
    # Seen backwards in time, the last closing up to an opening is the first one after it.
    pair = last_up_to(
        forest.thread[after] * size + closed,
        -forest.start[after],
        forest.thread[before] * size + opened,
        -forest.start[before],
    )
    whole = np.flatnonzero((pair >= 0) & (opened >= 0))
    start, end = forest.start[before[whole]], forest.start[after[pair[whole]]]
    thread = forest.thread[before[whole]]
    order = np.lexsort((start - end, start, thread))
    start, end, thread = start[order], end[order], thread[order]
    spans = Forest(before[whole][order], enclosing(thread, start, end), start, end, thread)
    found = innermost_at(spans, forest.thread[position], forest.start[position])
    return lookup(opened[whole][order], found)
