"""What a host thread was doing at a time, by the names that the trace has."""

from __future__ import annotations

import re

import numpy as np

from tb_hookview.analysis.host.roles import MODULE_ROLES, module_name, node_name
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.analysis.host.stacks import around_any, is_frame, rows_holding
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import isin, unique, unique_inverse
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import EventRow, Intervals, Nanoseconds, ThreadIndex, TimeSet
from tb_hookview.schema.terms import module_label
from tb_hookview.trace import EventCategory

_HELD = 0.8
"""Share of a time that an event has to hold to name it."""
_LONGEST = 1 << 62
"""Nanoseconds that nothing takes."""
_FRAME = re.compile(r"(?:.*/)?(?P<file>[^/]+): (?P<function>.+)")


def named_activity(host: HostRows, thread: ThreadIndex, span: Intervals) -> list[str]:
    """Name of what a thread was in for most of each time; "" where nothing says so.

    It is the innermost operator, annotation, module or Python frame that holds four fifths of it.

    Args:
        host: the host rows.
        thread: of each time, shape (s,).
        span: start and end of each, nanoseconds, shape (s, 2).
    """
    if not len(span):
        return []
    trace = host.trace
    row = activity_events(host, thread, span)
    string, place = unique_inverse(lookup(trace.events.name.astype(np.int64), row))
    names = [_name(trace.strings[s]) if s >= 0 else "" for s in string.tolist()]
    return list(np.array(names, object)[place])


def activity_events(host: HostRows, thread: ThreadIndex, span: Intervals) -> EventRow:
    """Event that `named_activity` names at each time, -1 for none."""
    moments = span.sum(axis=1) // 2
    least = _HELD * int((span[:, 1] - span[:, 0]).min(initial=_LONGEST))
    return rows_holding(host.trace, _naming(host, least, moments), thread, span, _HELD)


def cut_by_activity(host: HostRows, thread: int, spans: TimeSet, share: float) -> TimeSet:
    """Cut times of a thread where events begin or end that take a share of all of them."""
    if not len(spans):
        return spans
    least = share * intervals.length(spans)
    trace = host.trace.events
    events = _naming(host, least)
    events = events[trace.thread[events] == thread]
    start = trace.start[events]
    moments = unique(np.concatenate([start, start + trace.duration[events]]))
    return intervals.cut(spans, moments)


def operators_within(host: HostRows, thread: int, spans: TimeSet) -> list[tuple[str, float]]:
    """Time of the outermost operators that a thread ran within some times, by name."""
    if not len(spans):
        return []
    events, tree = host.trace.events, host.call_tree
    rows = np.flatnonzero((host.kind == EventCategory.OPERATOR) & (tree.thread == thread))
    place = np.searchsorted(spans[:, 0], tree.start[rows], side="right") - 1
    rows = rows[(place >= 0) & (tree.end[rows] <= lookup(spans[:, 1], place))]
    order = rows[np.lexsort((-tree.end[rows], tree.start[rows]))]
    before = np.maximum.accumulate(np.append(0, tree.end[order]))[:-1]
    outermost = order[tree.start[order] >= before]
    string, place = unique_inverse(events.name[tree.event[outermost]])
    length = np.bincount(place, tree.duration[outermost], len(string))
    names = [_name(host.trace.strings[each]) for each in string.tolist()]
    return list(zip(names, length.tolist(), strict=True))


def _naming(host: HostRows, least: float, moments: Nanoseconds | None = None) -> EventRow:
    """Host events whose names say what the host does (no steps, marks, calls).

    Args:
        host: the host rows.
        least: what they take at least, nanoseconds.
        moments: they hold one of these; None for all of them.
    """
    events = host.trace.events
    long = events.duration >= least
    named = host.naming[long[host.naming]]
    python = np.flatnonzero(long & (events.kind == EventCategory.PYTHON))
    if not len(python):
        return named
    if moments is not None:
        python = python[around_any(events.start[python], events.duration[python], moments)]
    texts, strings = host.trace.strings.texts, unique(events.name[python])
    frames = [string for string in strings.tolist() if is_frame(texts[string])]
    python = python[isin(events.name[python], frames)]
    return unique(np.concatenate([named, python]))


def _name(text: str) -> str:
    """Name of an event as a person reads it: `function in file.py(line)` for a frame."""
    if is_frame(text) and (frame := _FRAME.fullmatch(text)):
        return f"{frame['function']} in {frame['file']}"
    for role in MODULE_ROLES:
        if (module := module_name(text, role)).path != text:
            return module_label(module.path)
    return node_name(text)
