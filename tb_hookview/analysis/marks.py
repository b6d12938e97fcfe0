"""The recorder's marks on the backward pass: whose gradient, and between which marks.

A pair of marks spans what ran between them on one thread, from the node at which the first was
left to the one at which the second was:

    before blocks.0 | before blocks.0.fc | MmBackward0 | after blocks.0.fc | after blocks.0
                    |---------------- blocks.0.fc -----|
    |--------------------------- blocks.0 ------------------------------|
"""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.forest import Forest, enclosing, innermost_at, lookup, nearest_above
from tb_hookview.analysis.host import Host
from tb_hookview.analysis.joins import last_up_to
from tb_hookview.analysis.modules import Modules
from tb_hookview.analysis.names import Role, module_name
from tb_hookview.trace.columns import Int


def marked_modules(host: Host, modules: Modules, rows: Int) -> Int:
    """Module that each mark (a forest row) names, -1 for one that is not in the tree."""
    by_path = {path: number for number, path in enumerate(modules.path)}
    strings = host.string[rows]
    named = {
        string: by_path.get(module_name(host.trace.strings[string], Role.NONE).path, -1)
        for string in np.unique(strings).tolist()
    }
    return np.array([named[string] for string in strings.tolist()], np.int64)


def module_between_marks(host: Host, modules: Modules, position: Int) -> Int:
    """Module between whose marks each of the given forest rows began, innermost; -1 for none."""
    before = np.flatnonzero(host.role == Role.BEFORE_MARK)
    after = np.flatnonzero(host.role == Role.AFTER_MARK)
    opened = marked_modules(host, modules, before)
    closed = marked_modules(host, modules, after)
    size = len(modules) + 1
    # Seen backwards in time, the last closing up to an opening is the first one after it.
    pair = last_up_to(
        host.forest.thread[after] * size + closed,
        -host.forest.start[after],
        host.forest.thread[before] * size + opened,
        -host.forest.start[before],
    )
    whole = np.flatnonzero((pair >= 0) & (opened >= 0))
    marks = before[whole]
    start, end = _began(host, marks), _began(host, after[pair[whole]])
    thread = host.forest.thread[marks]
    order = np.lexsort((marks, start - end, start, thread))
    start, end, thread = start[order], end[order], thread[order]
    spans = Forest(marks[order], enclosing(thread, start, end), start, end, thread)
    found = innermost_at(spans, host.forest.thread[position], host.forest.start[position])
    return lookup(opened[whole][order], found)


def _began(host: Host, marks: Int) -> Int:
    """When the node began at which a mark was left: the mark may lie inside its evaluation."""
    node = nearest_above(host.forest.parent, host.role == Role.NODE)[marks]
    return np.where(node >= 0, lookup(host.forest.start, node), host.forest.start[marks])
