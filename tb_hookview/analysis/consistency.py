"""Counts of the contradictions in a trace."""

from __future__ import annotations

import numpy as np

from tb_hookview import markers
from tb_hookview.analysis.host.roles import MARK_ROLES, Role
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.analysis.modules.marks import marked_modules
from tb_hookview.analysis.modules.tree import Modules
from tb_hookview.arrays.joins import isin
from tb_hookview.arrays.nesting import CallTree, lookup
from tb_hookview.arrays.types import Bool, Int, TreeRow
from tb_hookview.trace import EventCategory, Trace

LONGEST_BREAK_NS = 3600 * 10**9
"""No step is idle for longer; what a profiler records is over within minutes."""

_BACKWARD_MARKS = (Role.GRADIENT_MARK, Role.BEFORE_MARK, Role.AFTER_MARK)


def external_id_conflicts(host: HostRows) -> int:
    """Count calls whose `External id` is not that of an operator around them.

    Between late 2021 and early 2024 the field held the call's own correlation id, and collides
    with operators' ids by chance: a file in which most calls do so is not checked, nor any single
    call that does.
    """
    events, kind = host.trace.events, host.kind
    external = events.external[host.call_tree.event]
    own = external == events.correlation[host.call_tree.event]
    calls = (kind == EventCategory.RUNTIME) & (external > 0)
    if 2 * np.count_nonzero(calls & own) > np.count_nonzero(calls):
        return 0
    identified = np.where(kind == EventCategory.RUNTIME, -1, external)
    asked = np.flatnonzero(calls & ~own & isin(external, identified[identified > 0]))
    return int(np.count_nonzero(~_named_around(host.call_tree, identified, asked, external[asked])))


def clock_jumps(trace: Trace, begin: int, end: int) -> int:
    """Count spans of `LONGEST_BREAK_NS` and more without an event, between two bounds."""
    if end - begin < LONGEST_BREAK_NS:
        return 0
    events = trace.events
    inside = (events.start >= begin) & (events.end <= end)
    order = np.argsort(events.start[inside], kind="stable")
    start, stop = events.start[inside][order], events.end[inside][order]
    breaks = start[1:] - np.maximum.accumulate(stop)[:-1]
    return int(np.count_nonzero(breaks >= LONGEST_BREAK_NS))


def unusable_marks(host: HostRows, modules: Modules) -> dict[str, int]:
    """Count the recorder's marks that cannot be used fully, by reason."""
    marks = np.flatnonzero(isin(host.role, [int(r) for r in _BACKWARD_MARKS]))
    unknown = int(np.count_nonzero(marked_modules(host, modules, marks) < 0))
    before = np.count_nonzero(host.role == Role.BEFORE_MARK)
    after = np.count_nonzero(host.role == Role.AFTER_MARK)
    return {
        "marks of modules that are not in the tree": unknown,
        "marks before or after a backward without their counterpart": int(abs(before - after)),
        "marks of a later version than this analyzer knows": _later_marks(host),
        "marks of a kind that this analyzer does not know": int(
            np.count_nonzero(host.role == Role.UNKNOWN_MARK)
        ),
        "manifest of a later version than this analyzer knows": _later_manifest(host),
    }


def _later_marks(host: HostRows) -> int:
    """Count marks of a known kind and a later version.

    These are read as of our version.
    """
    strings = host.string[isin(host.role, [int(role) for role in MARK_ROLES])]
    distinct, count = np.unique(strings, return_counts=True)
    decoded = [markers.decode(host.trace.strings[string]) for string in distinct.tolist()]
    later = [mark is not None and mark.version > markers.VERSION for mark in decoded]
    return int(count[np.array(later, bool)].sum())


def _later_manifest(host: HostRows) -> int:
    manifest = host.trace.manifest
    version = manifest.version if manifest else None
    return int(version is not None and version > markers.VERSION)


def _named_around(call_tree: CallTree, identified: Int, rows: TreeRow, wanted: Int) -> Bool:
    """Whether any row around each of the given rows has the wanted id."""
    found = np.zeros(len(rows), bool)
    around = call_tree.parent[rows]
    while (around >= 0).any():
        found |= (around >= 0) & (identified[around] == wanted)
        around = lookup(call_tree.parent, around)
    return found
