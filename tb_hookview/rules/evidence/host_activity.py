"""What the host was doing while a device idled, by the names that the trace has."""

from __future__ import annotations

import re
from collections import defaultdict

import numpy as np

from tb_hookview import schema
from tb_hookview.analysis.host.roles import MODULE_ROLES, Role, module_name, node_name
from tb_hookview.analysis.host.stacks import is_frame, rows_holding
from tb_hookview.arrays.joins import isin, unique, unique_inverse
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import EventRow, GapIndex, TreeRow
from tb_hookview.formats import format_us
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.places import places_of
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
    thread = lookup(call_tree.thread, _launches(context, gaps))
    span = np.stack([table.start[gaps], table.end[gaps]], axis=1)
    row = rows_holding(trace, _naming(context), thread, span, _HELD)
    string, place = unique_inverse(lookup(trace.events.name.astype(np.int64), row))
    names = [_name(trace.strings[s]) if s >= 0 else "" for s in string.tolist()]
    return [names[i] for i in place.tolist()]


def _launches(context: Context, gaps: GapIndex) -> TreeRow:
    """Launch that ended each gap of the cause LAUNCH."""
    work = context.analysis.device_events
    return lookup(work.launch, context.analysis.gaps.device_event[gaps])


def _naming(context: Context) -> EventRow:
    """Host events whose names say what the host does: no steps, marks or calls."""
    host, events = context.host, context.analysis.trace.events
    named = isin(host.kind, [int(EventCategory.OPERATOR), int(EventCategory.ANNOTATION)])
    named &= isin(host.role, [int(role) for role in _NAMING])
    named |= host.role == Role.MODULE_LABEL
    python = np.flatnonzero(events.kind == EventCategory.PYTHON)
    texts, strings = context.analysis.trace.strings, unique(events.name[python])
    frames = [string for string in strings.tolist() if is_frame(texts[string])]
    python = python[isin(events.name[python], frames)]
    return unique(np.concatenate([host.call_tree.event[named], python]))


def _name(text: str) -> str:
    """Name of an event as a person reads it: `function in file.py(line)` for a frame."""
    if is_frame(text) and (frame := _FRAME.fullmatch(text)):
        return f"{frame['function']} in {frame['file']}"
    for role in MODULE_ROLES:
        if (module := module_name(text, role)).path != text:
            return schema.module_label(module.path)
    return node_name(text)


def launched_places(context: Context, gaps: GapIndex, most: int) -> str:
    """Modules and operators whose launches ended gaps, most idle time first, as a phrase."""
    modules: defaultdict[str, float] = defaultdict(float)
    operators: defaultdict[str, float] = defaultdict(float)
    for (module, place), members in places_of(context, _launches(context, gaps)).items():
        time = context.gaps.us_per_step(gaps[members])
        operators[place] += time
        if module >= 0:
            path = context.analysis.modules.path[module]
            modules[schema.module_label(path)] += time
    parts = [f"modules {_largest(modules, most)}"] if modules else []
    return " and ".join([*parts, f"operators {_largest(operators, most)}"])


def _largest(times: dict[str, float], most: int) -> str:
    ranked = sorted(times.items(), key=lambda item: -item[1])[:most]
    return ", ".join(f"{name} ({format_us(us)})" for name, us in ranked)
