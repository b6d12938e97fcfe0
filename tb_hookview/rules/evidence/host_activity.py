"""What the host was doing while a device idled, by the names that the trace has."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

from tb_hookview import schema
from tb_hookview.analysis.host.roles import MODULE_ROLES, Role, module_name, node_name
from tb_hookview.analysis.host.stacks import around_any, is_frame, rows_holding
from tb_hookview.arrays.joins import isin, unique, unique_inverse
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import EventRow, GapIndex, Int, Nanoseconds, TreeRow
from tb_hookview.formats import format_us
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.places import place_of
from tb_hookview.trace import EventCategory

LONG_NS = 1_000_000
"""Gaps from this length on are no pace of launches: no operator takes that long to launch."""
_HELD = 0.8
"""Share of a gap that an event has to hold to be its reason."""
_NAMING = (Role.NONE, Role.NODE, Role.GRADIENT_SINK, Role.OPTIMIZER, *MODULE_ROLES)
_FRAME = re.compile(r"(?:.*/)?(?P<file>[^/]+): (?P<function>.+)")


def activity_in(context: Context, gaps: GapIndex) -> list[str]:
    """Name of what the launching thread was in for most of each gap; "" where nothing says so.

    It is the innermost operator, annotation, module or Python frame that holds four fifths of it.
    """
    table, call_tree, trace = context.analysis.gaps, context.call_tree, context.analysis.trace
    thread = lookup(call_tree.thread, launches_after(context, gaps))
    span = np.stack([table.start[gaps], table.end[gaps]], axis=1)
    row = rows_holding(trace, _naming(context, span.sum(axis=1) // 2), thread, span, _HELD)
    string, place = unique_inverse(lookup(trace.events.name.astype(np.int64), row))
    names = [_name(trace.strings[s]) if s >= 0 else "" for s in string.tolist()]
    return [names[i] for i in place.tolist()]


def launches_after(context: Context, gaps: GapIndex) -> TreeRow:
    """Launch that ended each gap of the cause LAUNCH."""
    work = context.analysis.device_events
    return lookup(work.launch, context.analysis.gaps.device_event[gaps])


def _naming(context: Context, moments: Nanoseconds) -> EventRow:
    """Host events around any moment whose names say what the host does: no steps, marks, calls."""
    host, events = context.host, context.analysis.trace.events
    named = isin(host.kind, [int(EventCategory.OPERATOR), int(EventCategory.ANNOTATION)])
    named &= isin(host.role, [int(role) for role in _NAMING])
    named |= host.role == Role.MODULE_LABEL
    python = np.flatnonzero(events.kind == EventCategory.PYTHON)
    python = python[around_any(events.start[python], events.duration[python], moments)]
    texts, strings = context.analysis.trace.strings, unique(events.name[python])
    frames = [string for string in strings.tolist() if is_frame(texts[string])]
    python = python[isin(events.name[python], frames)]
    own = host.call_tree.event[named]
    own = own[around_any(events.start[own], events.duration[own], moments)]
    return unique(np.concatenate([own, python]))


def _name(text: str) -> str:
    """Name of an event as a person reads it: `function in file.py(line)` for a frame."""
    if is_frame(text) and (frame := _FRAME.fullmatch(text)):
        return f"{frame['function']} in {frame['file']}"
    for role in MODULE_ROLES:
        if (module := module_name(text, role)).path != text:
            return schema.module_label(module.path)
    return node_name(text)


def launched_places(context: Context, gaps: GapIndex, most: int) -> str:
    """What the launches that ended gaps were for, most idle time first, as a phrase.

    Modules, annotations where these stand for modules, and operators.
    """
    trace, modules = context.analysis.trace, context.analysis.modules
    module, string = place_of(context, launches_after(context, gaps))
    inside, operators = module >= 0, _times(context, gaps, string)
    lists: dict[str, list[tuple[str, float]]] = {"modules": [], "annotations": []}
    for number, time in _times(context, gaps[inside], module[inside]):
        what = "annotations" if modules.annotation[number] else "modules"
        lists[what].append((schema.module_label(modules.path[number]), time))
    lists["operators"] = [(node_name(trace.strings[number]), time) for number, time in operators]
    return " and ".join(
        f"{what} {_largest(context, times, most)}" for what, times in lists.items() if times
    )


def _times(context: Context, gaps: GapIndex, group: Int) -> list[tuple[int, float]]:
    """Number and time of each group of gaps, nanoseconds, by its first launch."""
    numbers, place = unique_inverse(group)
    time = np.bincount(place, context.analysis.gaps.duration[gaps])
    begun = np.full(len(numbers), np.iinfo(np.int64).max)
    np.minimum.at(begun, place, context.call_tree.start[launches_after(context, gaps)])
    order = np.argsort(begun, kind="stable")
    return list(zip(numbers[order].tolist(), time[order].tolist(), strict=True))


def _largest(context: Context, times: list[tuple[str, float]], most: int) -> str:
    whole: Counter[str] = Counter()
    for name, time in times:
        whole[name] += time  # type: ignore[assignment]  # whole nanoseconds
    return ", ".join(
        f"{name} ({format_us(context.steps.us_per_step(time))})"
        for name, time in whole.most_common(most)
    )
