"""Compiled regions: their table, and what is not known about modules inside."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.compiled.graphs import (
    GRAPH_CALL,
    REGION_ROW,
    is_compiled,
    is_generated,
    operators_of,
)
from tb_hookview.analysis.compiled.placement import Placement
from tb_hookview.analysis.compiled.times import NO_MAP, WHOLE, CompiledUnits
from tb_hookview.analysis.consistency.checks import Fault, counted
from tb_hookview.analysis.modules.attribution import COMPILED, EVIDENCE, NO_FORWARD
from tb_hookview.analysis.selection import Selection
from tb_hookview.analysis.unseen_modules import with_times
from tb_hookview.arrays.joins import dense_rank, index_of, isin, unique_inverse
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.sums import least_by, sum_by
from tb_hookview.arrays.types import Bool, Int, StringIndex, TreeRow, to_us
from tb_hookview.schema import CompiledGraphs, CompiledLump, CompiledRegion, PlacedTime
from tb_hookview.trace import EventCategory


def compiled_faults(analysis: Analysis) -> tuple[Fault, ...]:
    """What modules without calls say about the recording."""
    manifest = analysis.trace.manifest
    if manifest is None or not manifest.modules:
        return ()
    if manifest.compiled and not _placed(analysis):
        return counted("compiled-after-wrap", 1)
    if not (analysis.module_calls.module >= 0).any() and not _placed(analysis):
        # A warning of replayed graphs, or of a device without its host, gives the reason.
        of_device = len(analysis.device_events) > 0 and not analysis.launches_known
        in_graphs = analysis.replayed_graphs.unplaced.any()
        return () if of_device or in_graphs else counted(_why_without_calls(analysis), 1)
    return (*_unknown(analysis), *_not_placed(analysis))


def _why_without_calls(analysis: Analysis) -> str:
    """Code of the reason why no module of the manifest was called."""
    if not (analysis.host.kind == EventCategory.OPERATOR).any():
        return "nothing-ran"
    if _ran_compiled(analysis):
        return "compiled-after-wrap"
    reason = analysis.attribution.node_reason
    made = np.count_nonzero(reason > NO_FORWARD)
    return (
        "unrecorded-thread" if np.count_nonzero(reason == NO_FORWARD) > made else "no-module-calls"
    )


def _ran_compiled(analysis: Analysis) -> bool:
    return any(map(is_compiled, analysis.trace.strings.texts))


def _placed(analysis: Analysis) -> bool:
    return analysis.compiled is not None and bool(len(analysis.compiled.ran))


def _unknown(analysis: Analysis) -> tuple[Fault, ...]:
    """Parts of compiled models of which nothing is compiled, or nothing known."""
    manifest = analysis.trace.manifest
    if manifest is not None and not _ran_compiled(analysis):
        return counted("compiled-nothing", sum(each.compiled for each in manifest.modules))
    unknown = analysis.compiled_modules & ~with_times(analysis)
    code = "compiled-in-no-call" if _has_maps(analysis) else "compiled"
    return counted(code, int(np.count_nonzero(unknown)))


def _has_maps(analysis: Analysis) -> bool:
    """Whether the recorder left a map of every compiled graph that was called."""
    compiled = analysis.compiled
    if compiled is None or not len(compiled.placement.calls.row):
        return False
    return not (compiled.placement.calls.whole == NO_MAP).any()


def _not_placed(analysis: Analysis) -> tuple[Fault, ...]:
    """Calls of graphs that the map does not place, by the reason."""
    if analysis.compiled is None:
        return ()
    calls = analysis.compiled.placement.calls
    codes = zip(_NOT_PLACED, np.bincount(calls.whole[calls.whole >= 0], minlength=4), strict=True)
    return tuple(fault for code, count in codes for fault in counted(code, int(count)))


_NOT_PLACED = (
    "compiled-without-map",
    "compiled-other-map",
    "compiled-other-rows",
    "compiled-nested",
)
"""In the order of `WHOLE`."""


# Compiled code that is not broken down by modules, by the module around it.


def compiled_lumps(selection: Selection) -> dict[int, CompiledLump]:
    """The lump of each module that has one, by its row in the module table."""
    analysis = selection.analysis
    if not _ran_compiled(analysis):
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


# Compiled code by region, graph and operators, and how much of graphs was placed on modules.


LONGEST = 500
"""Rows of the table."""
_NOTHING = -1
"""Operators of time in no operator."""


def compiled_region_rows(selection: Selection) -> list[CompiledRegion]:
    """Rows by region, graph and operators, most expensive first; empty without compiled code."""
    analysis = selection.analysis
    if not _ran_compiled(analysis):
        return []
    units = analysis.compiled_units
    unit, string, event, chosen, *times = (
        np.concatenate(pair)
        for pair in zip(_of_host(selection, units), _of_devices(selection, units), strict=True)
    )
    named, texts = _operators(selection, string)
    keys = (
        lookup(units.region, unit),
        lookup(units.graph, unit),
        lookup(units.backward, unit),
        named,
    )
    group = dense_rank(*keys)
    size = int(group.max(initial=-1)) + 1
    sums = np.array([sum_by(group[chosen], values[chosen], size) for values in times])
    first = least_by(group, event, sums.shape[1])
    example = np.zeros(sums.shape[1], np.int64)
    example[group[::-1]] = np.arange(len(group))[::-1]
    rank = np.argsort(np.argsort([text for text, _ in texts] or [""]))[named[example]]
    order = np.lexsort((first, rank, -sums[0], -sums[1]))[:LONGEST]
    return [
        _row(selection, [int(key[example[g]]) for key in keys], texts, sums[:, g], int(first[g]))
        for g in order.tolist()
        if sums[:, g].any()
    ]


def _of_host(selection: Selection, units: CompiledUnits) -> tuple[NDArray[Any], ...]:
    """Operators of units, and what is left of each unit.

    Returns:
        Unit, name, event, whether in the selection, host and device time, calls.
    """
    host, tree = selection.analysis.host, selection.analysis.call_tree
    rows = np.flatnonzero(units.operator == np.arange(len(host)))
    rows = rows[units.around[rows] >= 0]
    own = sum_by(units.around[rows], tree.duration[rows], len(units.row))
    unit = np.concatenate([units.around[rows], np.arange(len(own))])
    nothing = np.full(len(own), _NOTHING)
    left = np.maximum(tree.duration[units.row] - own, 0)
    row, size = np.concatenate([rows, units.row]), len(unit)
    return (
        unit,
        np.concatenate([host.string[rows], nothing]),
        tree.event[row],
        selection.rows[row],
        np.concatenate([tree.duration[rows], left]),
        np.zeros(size, np.int64),
        np.ones(size, np.int64),
    )


def _of_devices(selection: Selection, units: CompiledUnits) -> tuple[NDArray[Any], ...]:
    """Device events of units, and generated kernels of none, as `_of_host`."""
    analysis = selection.analysis
    events = analysis.device_events
    kernel = analysis.trace.events.name[events.event].astype(np.int64)
    names, place = unique_inverse(kernel)
    texts = analysis.trace.strings
    generated = np.array([is_generated(texts[name]) for name in names.tolist()], bool)
    unit = lookup(units.around, events.launch)
    mine = np.flatnonzero((unit >= 0) | (generated[place] if len(place) else False))
    operator = lookup(units.operator, events.launch[mine])
    inside = (unit[mine] >= 0) & (operator >= 0)
    string = np.where(inside, lookup(analysis.host.string, operator), kernel[mine])
    nothing = np.zeros(len(mine), np.int64)
    # The row of an operator is counted; of a replayed graph, each kernel is.
    counts = (~inside).astype(np.int64)
    chosen = selection.device_events[mine]
    return unit[mine], string, events.event[mine], chosen, nothing, events.duration[mine], counts


def _operators(selection: Selection, string: StringIndex) -> tuple[Int, list[tuple[str, bool]]]:
    """Number of the operators in each name, and these, with whether the code is generated."""
    strings, place = unique_inverse(string)
    numbers: dict[tuple[str, bool], int] = {}
    texts = selection.analysis.trace.strings
    named = [
        ("", False) if name == _NOTHING else (operators_of(texts[name]), is_generated(texts[name]))
        for name in strings.tolist()
    ]
    number = [numbers.setdefault(name, len(numbers)) for name in named]
    return np.array(number, np.int64)[place], list(numbers)


def _row(
    selection: Selection, keys: list[int], texts: list[tuple[str, bool]], sums: Int, event: int
) -> CompiledRegion:
    strings, known = selection.analysis.trace.strings, selection.analysis.launches_known
    region, graph, backward, named = keys
    host, device, calls = sums.tolist()
    match = GRAPH_CALL.fullmatch(strings[graph]) if graph >= 0 else None
    operators, generated = texts[named]
    return CompiledRegion(
        id=event,
        region=strings[region] if region >= 0 else None,
        graph=match[1] if match else None,
        compile_id=strings[region].removeprefix(REGION_ROW) if region >= 0 else None,
        backward=backward > 0,
        operators=operators,
        generated=generated,
        calls=calls,
        host_us=to_us(host),
        device_us=to_us(device) if known else None,
    )


def compiled_summary(selection: Selection) -> CompiledGraphs | None:
    """Calls of graphs and their time; None where no graph was called, or there is no map."""
    compiled = selection.analysis.compiled
    if compiled is None or not len(compiled.placement.calls.row):
        return None
    placement = compiled.placement
    calls = placement.calls
    chosen = selection.rows[calls.row]
    whole = np.bincount(calls.whole[chosen & (calls.whole >= 0)], minlength=len(WHOLE)).tolist()
    return CompiledGraphs(
        calls=int(chosen.sum()),
        placed=int((chosen & placement.placed).sum()),
        whole_by_reason={reason: n for reason, n in zip(WHOLE, whole, strict=True) if n},
        forward=_placed_compiled_regions(selection, placement, chosen & ~calls.backward),
        backward=_placed_compiled_regions(selection, placement, chosen & calls.backward),
    )


def _placed_compiled_regions(
    selection: Selection, placement: Placement, wanted: Bool
) -> PlacedTime:
    """Host and device time of some calls, and the parts that modules have."""
    analysis = selection.analysis
    row = placement.calls.row
    mine = wanted[placement.range] & (placement.module >= 0)
    leaf: Bool = analysis.modules.end == np.arange(len(analysis.modules)) + 1
    on_leaf = mine & (lookup(leaf, placement.module) > 0)
    index = index_of(row, len(analysis.host))
    around = lookup(index, analysis.call_tree.nearest(index >= 0))
    launched = lookup(around, analysis.device_events.launch)
    events = analysis.device_parts.of(
        selection.device_events
        & (lookup(wanted, launched) > 0)
        & ~analysis.device_attribution.recompute
    )
    placed = isin(events.evidence, [EVIDENCE.index(name) for name in COMPILED])
    known = analysis.launches_known
    return PlacedTime(
        host_us=to_us(analysis.call_tree.duration[row[wanted]].sum()),
        placed_host_us=to_us(placement.time[mine].sum()),
        leaf_host_us=to_us(placement.time[on_leaf].sum()),
        split_host_us=to_us(placement.time[mine & placement.several].sum()),
        near_host_us=to_us(placement.time[mine & placement.near].sum()),
        device_us=to_us(events.time.sum()) if known else None,
        placed_device_us=to_us(events.time[placed].sum()) if known else None,
    )
