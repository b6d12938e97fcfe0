"""What the host was doing while a device idled, by the names that the trace has."""

from __future__ import annotations

from collections import Counter

import numpy as np

from tb_hookview import schema
from tb_hookview.analysis.host.activity import named_activity, operators_within
from tb_hookview.analysis.host.roles import node_name
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import unique, unique_inverse
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import GapIndex, Int, TreeRow
from tb_hookview.formats import format_kernel, format_us
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.places import place_of

LONG_NS = 1_000_000
"""Gaps from this length on are no pace of launches: no operator takes that long to launch."""


def activity_in(context: Context, gaps: GapIndex) -> list[str]:
    """What the launching thread was in for most of each gap, as `named_activity`."""
    table = context.analysis.gaps
    thread = lookup(context.call_tree.thread, launches_after(context, gaps))
    span = np.stack([table.start[gaps], table.end[gaps]], axis=1)
    return named_activity(context.host, thread, span)


def operators_in(context: Context, gaps: GapIndex) -> Counter[str]:
    """Time of the outermost operators that the launching threads ran within gaps, nanoseconds."""
    table, found = context.analysis.gaps, Counter[str]()
    thread = lookup(context.call_tree.thread, launches_after(context, gaps))
    for each in unique(thread[thread >= 0]).tolist():
        mine = gaps[thread == each]
        spans = intervals.of(table.start[mine], table.end[mine])
        for name, time in operators_within(context.host, each, spans):
            found[name] += int(time)
    return found


def event_after(context: Context, gaps: GapIndex) -> str:
    """Name of the device events before which most of the time of some gaps lies."""
    table, work = context.analysis.gaps, context.analysis.device_events
    name = context.analysis.trace.events.name[work.event[table.device_event[gaps]]]
    names, place = unique_inverse(name.astype(np.int64))
    most = int(np.bincount(place, table.duration[gaps]).argmax())
    return format_kernel(context.analysis.trace.strings[int(names[most])])


def launches_after(context: Context, gaps: GapIndex) -> TreeRow:
    """Launch that ended each gap of the cause LAUNCH."""
    work = context.analysis.device_events
    return lookup(work.launch, context.analysis.gaps.device_event[gaps])


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
