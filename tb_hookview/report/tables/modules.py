"""The module table: cost of each module's forward, backward and recomputation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_hookview import schema
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.backward_within import backward_within
from tb_hookview.analysis.compiled.attribution import NOTHING_MOVED, CompiledTime
from tb_hookview.analysis.device.kinds import COMMUNICATION
from tb_hookview.analysis.host.activity import decoded_list
from tb_hookview.analysis.modules.attribution import RECOMPUTE
from tb_hookview.analysis.replayed_modules import unknown_device_times
from tb_hookview.analysis.selection import Selection
from tb_hookview.analysis.syncs.detection import recording_times
from tb_hookview.analysis.unseen_modules import unseen_modules
from tb_hookview.arrays.joins import grouped, index_of
from tb_hookview.arrays.nesting import innermost_at, lookup, self_time
from tb_hookview.arrays.sums import sum_by
from tb_hookview.arrays.types import (
    Bool,
    Int,
    ModuleIndex,
    Nanoseconds,
    TreeRow,
    microseconds,
    to_us,
)
from tb_hookview.report.tables.compiled import compiled_lumps
from tb_hookview.schema import KINDS

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
            decoded[text] = decoded_list(texts[text])
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


class _Sums(Struct, frozen=True):
    """Numbers of one direction per module; times in nanoseconds, shape (m,)."""

    host: Nanoseconds
    by_kind: Nanoseconds
    """Device time by kind, shape (m, kinds)."""
    kernels: Int
    tensor_core: Nanoseconds

    @property
    def device(self) -> Nanoseconds:
        """Device time of all kinds."""
        return np.asarray(self.by_kind.sum(axis=1))

    @property
    def communication(self) -> Nanoseconds:
        """The part of it in collectives."""
        return self.by_kind[:, COMMUNICATION]


def module_rows(selection: Selection) -> list[schema.Module]:
    """One row per module instance, parents before children."""
    analysis = selection.analysis
    modules = analysis.modules
    calls = Calls(selection)
    forward = _work_rows(analysis, _forward(selection, calls))
    backward = _work_rows(analysis, _backward(selection))
    again = _recompute(selection, calls)
    recomputed = (modules.rolled_up(again.device + again.host) > 0).tolist()
    recompute = _work_rows(analysis, again) if any(recomputed) else []
    syncs = _sync_rows(selection)
    count, parents = calls.counts().tolist(), modules.parent.tolist()
    depths = _depths(parents)
    occupancy, shapes = _occupancy(selection), input_shapes(selection)
    loading, lumps = _kernel_loading(selection), compiled_lumps(selection)
    rows = [
        schema.Module(
            id=i,
            path=modules.path[i],
            module_class=modules.module_class[i],
            parent=modules.path[parents[i]] if parents[i] >= 0 else None,
            parent_id=parents[i] if parents[i] >= 0 else None,
            depth=depths[i],
            calls=count[i],
            forward=forward[i],
            backward=backward[i],
            recompute=recompute[i] if recomputed[i] else None,
            sync=syncs[i],
            backward_ratio=_ratio(forward[i], backward[i]),
            occupancy_pct=occupancy[i],
            kernel_loading_us=loading[i],
            shapes=shapes.get(i, []),
            compiled_lump=lumps.get(i),
            source=analysis.module_sources[i],
        )
        for i in range(len(modules))
    ]
    return list(_with_unknown(selection, rows))


def _with_unknown(selection: Selection, rows: Iterable[schema.Module]) -> Iterator[schema.Module]:
    """Rows with null in the place of zeros that are not known."""
    analysis, unknown = selection.analysis, unknown_device_times(selection)
    masks = analysis.compiled_modules, unseen_modules(analysis), *unknown
    columns = (mask.tolist() for mask in masks)
    for row, compiled, unseen, forward, backward in zip(rows, *columns, strict=True):
        if compiled:
            found = replace(row, compiled=True)
        else:
            found = _in_graph(row, forward=forward, backward=backward)
        found = _unseen(found) if unseen else found
        known = found.forward.host_us is not None
        why = schema.UNSEEN_IN_COMPILED if compiled else schema.UNSEEN
        yield found if known else replace(found, unseen=why)


_UNKNOWN = schema.Work(None, None, None, None, None)


def _unseen(row: schema.Module) -> schema.Module:
    """Return the row of a module without calls, of whose backward only a part can be known."""
    backward = row.backward
    some = backward.host_us or backward.device_us
    return replace(
        row, forward=_UNKNOWN, backward=backward if some else _UNKNOWN, backward_ratio=None
    )


def _in_graph(row: schema.Module, *, forward: bool, backward: bool) -> schema.Module:
    """Return the row of a module with null for the passes that replayed graphs may hold."""
    backward = backward and not row.backward.device_us
    if not (forward or backward):
        return row
    return replace(
        row,
        forward=_without_device(row.forward) if forward else row.forward,
        backward=_without_device(row.backward) if backward else row.backward,
        backward_ratio=None,
    )


def _without_device(work: schema.Work) -> schema.Work:
    """The time on the host alone, where there is any."""
    return schema.Work(work.host_us or None, None, work.self_host_us or None, None, None)


def _depths(parents: Sequence[int]) -> list[int]:
    """Modules above each; parents stand before their children."""
    depths: list[int] = []
    for parent in parents:
        depths.append(depths[parent] + 1 if parent >= 0 else 0)
    return depths


def _ratio(forward: schema.Work, backward: schema.Work) -> float | None:
    on_device = forward.device_us is not None
    before = forward.compute_us if on_device else forward.host_us
    after = backward.compute_us if on_device else backward.host_us
    return after / before if before and after is not None else None


class Calls:
    """Selected calls of modules: rows of the call tree, with self host time."""

    def __init__(self, selection: Selection) -> None:
        analysis = selection.analysis
        call_tree, module_calls = analysis.call_tree, analysis.module_calls
        is_call = module_calls.module >= 0
        rows = np.flatnonzero(is_call)
        index = index_of(rows, len(call_tree))
        above = lookup(index, call_tree.nearest_above(is_call)[rows])
        chosen = selection.rows[rows]
        self.rows: TreeRow = rows[chosen]
        self.module: ModuleIndex = module_calls.module[rows][chosen]
        self.again: Bool = analysis.attribution.row_recompute[rows][chosen]
        own = self_time(call_tree.start[rows], call_tree.end[rows], above)
        within = backward_within(analysis)
        np.subtract.at(own, index[within.call], within.end - within.start)
        own = np.maximum(own, 0)
        left_out = ~selection.syncs if selection.chosen is None else None
        thread, span = recording_times(analysis.host, analysis.syncs, left_out)
        around = lookup(call_tree.nearest(is_call), innermost_at(call_tree, thread, span[:, 0]))
        inside = around >= 0
        np.subtract.at(own, index[around[inside]], (span[:, 1] - span[:, 0])[inside])
        self._compiled = analysis.compiled
        if self._compiled is not None:
            moved = self._compiled.call_shares
            known = moved.call >= 0
            np.subtract.at(own, index[moved.call[known]], moved.time[known])
        self.self_host: Nanoseconds = own[chosen]
        """Without what compiled graphs ran for other modules, and what is the recording's."""
        self._chosen, self._row_again = selection.rows, analysis.attribution.row_recompute
        self._size = len(analysis.modules)

    def counts(self) -> Int:
        """Calls per module that are no recomputation, those of compiled graphs included."""
        found = np.bincount(self.module[~self.again], minlength=self._size)
        if self._compiled is not None:
            row, module = self._compiled.ran.T
            found += np.bincount(module[self._chosen[row]], minlength=self._size)
        return found

    def host(self, *, again: bool) -> Nanoseconds:
        """Self host time per module of calls, or of recomputed ones, nanoseconds."""
        found = _sum(self.module, self.self_host, self.again == again, self._size)
        moved = self.moved(again=again)
        np.add.at(found, moved.module, moved.time)
        return found

    def moved(self, *, again: bool) -> CompiledTime:
        """Time of calls that belongs to modules which compiled graphs ran."""
        if self._compiled is None:
            return NOTHING_MOVED
        moved = self._compiled.call_shares
        wanted = self._row_again[moved.row] == again
        wanted &= self._chosen[np.where(moved.call >= 0, moved.call, moved.row)]
        return moved.where(wanted)


def _forward(selection: Selection, calls: Calls) -> _Sums:
    return _device_sums(selection, ~selection.analysis.in_backward, calls.host(again=False))


def _recompute(selection: Selection, calls: Calls) -> _Sums:
    analysis = selection.analysis
    host = calls.host(again=True) + _outside_calls(selection)
    return _device_sums(selection, analysis.device_attribution.recompute, host)


def _outside_calls(selection: Selection) -> Nanoseconds:
    """Host time per module of forward operators that ran again in no module's call."""
    analysis = selection.analysis
    attribution, call_tree = analysis.attribution, analysis.call_tree
    again = attribution.row_recompute & (attribution.row_evidence != RECOMPUTE)
    outermost = again & (lookup(again, call_tree.parent) != 1)
    wanted = outermost & selection.rows & (attribution.row_module >= 0)
    return _sum(attribution.row_module, call_tree.duration, wanted, len(analysis.modules))


def _backward(selection: Selection) -> _Sums:
    analysis = selection.analysis
    host = analysis.node_parts.of(selection.nodes).by_module(len(analysis.modules))
    return _device_sums(selection, analysis.in_backward, host)


def _device_sums(selection: Selection, wanted: Bool, host: Nanoseconds) -> _Sums:
    analysis = selection.analysis
    events, size = analysis.device_events, len(analysis.modules)
    chosen = selection.device_events & wanted
    parts = analysis.device_parts.of(chosen)
    parts = parts.where(parts.module >= 0)
    kernels = parts.where(parts.main & events.is_kernel[parts.index])
    place = parts.module * len(KINDS) + analysis.kinds.kind[parts.index]
    by_kind = sum_by(place, parts.time, size * len(KINDS)).reshape(size, len(KINDS))
    on_cores = analysis.device_parts.of(chosen & (analysis.kinds.tensor_core == 1))
    return _Sums(
        host=host,
        by_kind=by_kind,
        kernels=np.bincount(kernels.module, minlength=size),
        tensor_core=on_cores.by_module(size),
    )


def _occupancy(selection: Selection) -> list[float | None]:
    """Mean occupancy of each module's kernels and those below, by duration."""
    analysis = selection.analysis
    events, size = analysis.device_events, len(analysis.modules)
    occupancy = analysis.trace.events.occupancy[events.event]
    parts = analysis.device_parts.of(selection.device_events & ~np.isnan(occupancy))
    exact = np.rint(parts.time * occupancy[parts.index]).astype(np.int64)
    time, occupied = parts.by_module(size), sum_by(parts.module, exact, size)
    pairs = zip(*(analysis.modules.rolled_up(c).tolist() for c in (occupied, time)), strict=True)
    return [part / whole if whole else None for part, whole in pairs]


def _sum(module: ModuleIndex, nanoseconds: Nanoseconds, wanted: Bool, size: int) -> Nanoseconds:
    """Exact sums per module: integers throughout, never through a double."""
    return sum_by(module[wanted], nanoseconds[wanted], size)


def _work_rows(analysis: Analysis, own: _Sums) -> list[schema.Work]:
    """One direction of every module."""
    up = analysis.modules.rolled_up
    host, self_host = microseconds(up(own.host)), microseconds(own.host)
    if not analysis.launches_known:
        pairs = zip(host, self_host, strict=True)
        return [schema.Work(whole, None, own_part, None, None) for whole, own_part in pairs]
    by_kind = up(own.by_kind)
    kinds: list[dict[str, float]] = [{} for _ in host]
    place = np.nonzero(by_kind)
    found = (*(each.tolist() for each in place), microseconds(by_kind[place]))
    for module, kind, time in zip(*found, strict=True):
        kinds[module][KINDS[kind]] = time
    columns = (
        host,
        microseconds(by_kind.sum(axis=1)),
        self_host,
        microseconds(own.device),
        up(own.kernels).tolist(),
        kinds,
        microseconds(up(own.tensor_core)),
        microseconds(up(own.device - own.communication)),
        microseconds(own.device - own.communication),
        microseconds(up(own.communication)),
    )
    return [schema.Work(*row) for row in zip(*columns, strict=True)]


def by_name_of_kind(times: Sequence[float]) -> dict[str, float]:
    """Times by name of kind, in the order of `KINDS`, without zeros."""
    return {name: time for name, time in zip(KINDS, times, strict=True) if time}


def _kernel_loading(selection: Selection) -> list[float | None]:
    """Time of each module and those below in which kernels were loaded."""
    analysis = selection.analysis
    loads, size = analysis.kernel_loads, len(analysis.modules)
    if not analysis.launches_known:
        return [None] * size
    module = analysis.attribution.row_module[loads.row]
    mine = selection.rows[loads.row] & (module >= 0) & ~loads.by_profiler
    own = _sum(module, loads.duration, mine, size)
    return [to_us(time) for time in analysis.modules.rolled_up(own).tolist()]


def _sync_rows(selection: Selection) -> list[schema.ModuleSync]:
    """Syncs of each module and the modules below it, without the profiler's own."""
    analysis = selection.analysis
    syncs, size = analysis.syncs, len(analysis.modules)
    module = analysis.attribution.row_module[syncs.row]
    wanted = selection.syncs & (module >= 0) & ~syncs.by_profiler
    blocked = _sum(module, syncs.end - syncs.start, wanted, size)
    idle = selection.sync_idle
    lost = np.zeros(size, np.int64) if idle is None else _sum(module, idle, wanted, size)
    columns = [
        analysis.modules.rolled_up(column).tolist()
        for column in (np.bincount(module[wanted], minlength=size), blocked, lost)
    ]
    if not (analysis.syncs_known and analysis.phases.rows_known):
        return [schema.ModuleSync(None, None, None)] * size
    return [
        schema.ModuleSync(count, to_us(blocked), None if idle is None else to_us(lost))
        for count, blocked, lost in zip(*columns, strict=True)
    ]
