"""Time, tensor cores and FLOPs of each call of an operator, and sums of them by any key.

Values are of single calls, the calls inside them included:

    main ops   [aten::linear                ]     device 28, own 0
    main ops      [aten::addmm          ]         device 28, own 28
    gpu  kernel        [gemm              ]
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.consistency.checks import captured_launches
from tb_hookview.analysis.device.kinds import eligible_operators
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.joins import (
    dense_rank,
    first_of_each,
    index_of,
    isin,
    mask_of,
    setdiff,
    unique,
)
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.sums import least_by, ranges
from tb_hookview.arrays.types import Bool, DeviceEventIndex, Float, Int, TreeRow
from tb_hookview.schema import KINDS


class OperatorCalls(Struct, frozen=True, dict=True):
    """Values of each call over a selection; columns over rows of the call tree."""

    selection: Selection

    @property
    def _analysis(self) -> Analysis:
        return self.selection.analysis

    @cached_property
    def rows(self) -> TreeRow:
        """Rows that are calls, of the whole trace; what repeats the row above is part of it."""
        operators = self._analysis.operators
        return np.flatnonzero(operators.named & ~operators.repeats)

    @cached_property
    def call(self) -> TreeRow:
        """The call that each row is part of: that of the rows it repeats, -1 for no operator."""
        operators = self._analysis.operators
        call = np.where(operators.named, np.arange(len(operators.named)), -1)
        part = np.flatnonzero(operators.repeats)
        while len(part):
            call[part] = operators.above[call[part]]
            part = part[operators.repeats[call[part]]]
        return call

    @cached_property
    def launcher(self) -> TreeRow:
        """Innermost call around the launch of each device event, -1 for none, shape (d,)."""
        above = lookup(self._analysis.operators.above, self._analysis.device_events.launch)
        return lookup(self.call, above)

    def launching_only(self, events: DeviceEventIndex) -> TreeRow:
        """Launches of these device events, and innermost calls around them, without others."""
        kept = np.ones(len(self.launcher), bool)
        kept[events] = False
        rows = [
            setdiff(unique(row[~kept]), unique(row[kept]))
            for row in (self._analysis.device_events.launch, self.launcher)
        ]
        found = unique(np.concatenate(rows))
        return np.asarray(found[found >= 0])

    @cached_property
    def self_host(self) -> Float:
        """Duration less operators, annotations and runtime calls inside, nanoseconds."""
        operators, chosen = self._analysis.operators, self.selection.rows
        mine = np.flatnonzero(operators.named & chosen)
        return self._sum(self.call[mine], operators.self_host[mine])

    @cached_property
    def device(self) -> Float:
        """Device time launched inside, nanoseconds."""
        return self._inside(self._duration(np.ones(len(self.launcher), bool)))

    @cached_property
    def self_device(self) -> Float:
        """The part of it that the call launched itself."""
        return self._own(np.ones(len(self.launcher), bool))

    @cached_property
    def in_graph(self) -> Bool:
        """Calls that launched into the capture of a graph, replayed in the selection or not."""
        analysis = self._analysis
        captured = captured_launches(analysis.host)
        return self._inside(mask_of(captured, len(analysis.call_tree)).astype(np.float64)) > 0

    @property
    def tensor_core(self) -> Float:
        """Device time on tensor cores, of kernels whose names show it."""
        return self._inside(self._duration(self._analysis.kinds.tensor_core == 1))

    @property
    def self_tensor_core(self) -> Float:
        """The part of it that the call launched itself."""
        return self._own(self._analysis.kinds.tensor_core == 1)

    @cached_property
    def eligible(self) -> Bool:
        """Whether tensor cores could serve each row, or one inside it."""
        analysis = self._analysis
        found = eligible_operators(analysis.host, analysis.device_events, analysis.kinds)
        launch = analysis.device_events.launch[analysis.kinds.tensor_core == 1]
        found[launch[launch >= 0]] = True
        return self._inside(found.astype(np.float64)) > 0

    @cached_property
    def flops(self) -> Float:
        """FLOPs of the call, or of the calls inside it of which they are known; 0 for none."""
        work = self._analysis.call_work
        inside = self._of_known(work.flops)
        own = np.where(self._analysis.ran & self.selection.rows, work.flops, 0.0)
        return np.where(np.isnan(work.flops), inside, own)

    @cached_property
    def _known(self) -> tuple[TreeRow, TreeRow]:
        """Calls of known FLOPs of the selection, and the next one around each; -1 for none."""
        analysis = self._analysis
        known = ~np.isnan(analysis.call_work.flops) & analysis.ran & self.selection.rows
        rows = np.flatnonzero(known)
        return rows, analysis.call_tree.nearest_above(known)[rows]

    def _of_known(self, values: Float) -> Float:
        """Sum over the calls of known FLOPs below each row that are in no other one below it."""
        rows, around = self._known
        inner = around >= 0
        of_each = self._sum(rows, values[rows]) - self._sum(around[inner], values[rows[inner]])
        return self._inside(of_each)

    @property
    def flops_time(self) -> Float:
        """Time of the calls of known FLOPs, on the device; nanoseconds.

        In a trace of a CPU the host's; 0 where a device ran them that is not in the trace.
        """
        analysis = self._analysis
        work, tree = analysis.call_work, analysis.call_tree
        if len(analysis.device_events):
            spent = self._inside(self._duration(analysis.device_work.call >= 0))
        elif analysis.device_unseen:
            spent = np.zeros(len(tree))
        else:
            spent = self._of_known(tree.duration.astype(np.float64))
            spent = np.where(np.isnan(work.flops), spent, tree.duration)
        return np.where(self.flops > 0, spent, 0.0)

    @property
    def time_at_peak(self) -> Float:
        """Time that these FLOPs take at the device's peak; NaN where one is not known."""
        peak = self._analysis.time_at_peak
        chosen = self.selection.device_events
        known = self._inside(self._of_launches(np.where(chosen, np.nan_to_num(peak), 0.0)))
        unknown = self._inside(self._of_launches((chosen & np.isnan(peak)).astype(np.float64)))
        known[(unknown > 0) | (known <= 0)] = np.nan
        return known

    @property
    def bytes(self) -> Float:
        """Bytes that the calls of known FLOPs move at least; NaN for unknown."""
        work = self._analysis.call_work
        unknown = np.isnan(work.bytes)
        moved = self._of_known(np.where(unknown, 0.0, work.bytes))
        moved[self.flops <= 0] = np.nan
        moved[self._of_known(unknown.astype(np.float64)) > 0] = np.nan
        np.copyto(moved, work.bytes, where=~np.isnan(work.flops))
        return moved

    def _duration(self, wanted: Bool) -> Float:
        """Time of the wanted device events, by the row that launched them."""
        chosen = wanted & self.selection.device_events
        return self._of_launches(np.where(chosen, self._analysis.device_events.duration, 0))

    def _of_launches(self, values: Float) -> Float:
        launch = self._analysis.device_events.launch
        known = launch >= 0
        return self._sum(launch[known], values[known])

    def _own(self, wanted: Bool) -> Float:
        chosen = wanted & self.selection.device_events & (self.launcher >= 0)
        return self._sum(self.launcher[chosen], self._analysis.device_events.duration[chosen])

    def _inside(self, values: Float) -> Float:
        """Sum over each row and those below it."""
        if not values.any():
            return np.zeros(len(values))
        upto = np.zeros(len(values) + 1)
        np.cumsum(values, out=upto[1:])
        below: Float = upto[self._analysis.call_tree.subtree_end]
        below -= upto[:-1]
        return below

    def _sum(self, row: TreeRow, values: Float | Int) -> Float:
        return np.bincount(row, values, len(self._analysis.call_tree)).astype(
            np.float64, copy=False
        )


class OperatorGroups(Struct, frozen=True, dict=True):
    """Sums of calls by a key, shape (g,): those groups of which any call began in the selection."""

    calls: OperatorCalls
    number: Int
    """Group of each of `calls.rows`, -1 for those without any call in the selection."""
    first: TreeRow
    """The call whose row is the least in the trace, which also gives a group its id."""
    count: Int

    @property
    def host(self) -> Float:
        """Time in the calls that began in the selection, nanoseconds.

        A call that outlasts the one around it may have more time to itself than that one lasts.
        """
        tree, began = self.calls.selection.analysis.call_tree, self.calls.selection.rows
        rows, number = self._outermost if began.all() else self._outermost_of(began)
        whole = np.bincount(number, tree.duration[rows], len(self.count))
        return np.maximum(whole, self.sum(self.calls.self_host))

    @cached_property
    def flops(self) -> Float:
        """FLOPs by `OperatorCalls.flops`."""
        return self.within(self.calls.flops)

    @cached_property
    def flops_time(self) -> Float:
        """Time by `OperatorCalls.flops_time`, nanoseconds."""
        return self.within(self.calls.flops_time)

    def sum(self, values: Float | Int) -> Float:
        """Sum of a column of `OperatorCalls` of what each call does itself."""
        rows, number = self._members
        return np.bincount(number, values[rows], len(self.count)).astype(np.float64, copy=False)

    def within(self, values: Float) -> Float:
        """Sum of a column that includes the calls inside; NaN where one is.

        A call inside another one of its group is in that one's value.
        """
        rows, number = self._outermost
        return np.bincount(number, values[rows], minlength=len(self.count)).astype(np.float64)

    def any(self, values: Bool) -> Bool:
        """Whether a column holds for any call of each group."""
        return self.sum(values.astype(np.int64)) > 0

    @cached_property
    def _members(self) -> tuple[TreeRow, Int]:
        """The calls that are in a group, and their groups."""
        mine = self.number >= 0
        if mine.all():
            return self.calls.rows, self.number
        return self.calls.rows[mine], self.number[mine]

    @cached_property
    def _outermost(self) -> tuple[TreeRow, Int]:
        """Those of them that are in no other call of their group."""
        return self._outermost_of()

    def _outermost_of(self, wanted: Bool | None = None) -> tuple[TreeRow, Int]:
        """Those of the calls in a group, or of the wanted ones, in no other of their group."""
        rows, number = self._members
        if wanted is not None:
            rows, number = rows[wanted[rows]], number[wanted[rows]]
        outer = self.calls.selection.analysis.call_tree.outermost(rows, number)
        return rows[outer], number[outer]


def group_calls(calls: OperatorCalls, *key: Int) -> OperatorGroups:
    """Group calls that are equal in each of some columns over `calls.rows`."""
    rows, selection = calls.rows, calls.selection
    rank = dense_rank(*key)
    began = selection.rows[rows]
    count = np.bincount(rank[began], minlength=int(rank.max(initial=-1)) + 1)
    kept = np.flatnonzero(count)
    place = index_of(kept, len(count))
    event = selection.analysis.call_tree.event[rows]
    of_least = np.flatnonzero(event == least_by(rank, event, len(count))[rank])
    first = np.empty(len(count), np.int64)
    first[rank[of_least]] = rows[of_least]
    return OperatorGroups(calls, place[rank], first[kept], count[kept])


# Sequences of kernels in a row on one stream that one fused kernel could replace.
#
# Kernels that work element by element, or reduce, copy or fill, follow each other in runs:
#
#     gpu 7  [gemm][add][mul][gelu][gemm][add][mul][gelu][gemm]
#                  ------ run ----       ------ run ----
#
# A run of up to `SHORT` kernels is one sequence. A longer one, as a loop over parameters makes it,
# counts as what is repeated in it directly, and what is between.


SHORT = 16
"""Kernels of a sequence at most, where a longer one repeats itself."""
_FUSABLE = [KINDS.index(kind) for kind in ("elementwise", "reduction", "copy", "set")]
_LEFT_OUT = re.compile(
    r"(void )?(triton_|batched_transpose_|SubTensorOp|"
    r"(cudnn::\w+::)?(nchwToNhwc|nhwcToNchw|nhwcToFoldedNhwc|foldedNhwcToNhwc|convertTensor_))"
)
"""Begin of names of kernels that a compiler fused already, or that are part of a library's call."""


class Sequences(Struct, frozen=True):
    """Occurrences of sequences, none in two; kernels in arrays of shape (k,).

    Sequences with equal names in the same order have the same number; each occurs at least twice.
    """

    kernel: DeviceEventIndex
    """Kernels by occurrence, in the order of their stream."""
    occurrence: Int
    """Occurrence of each kernel, ascending from 0."""
    sequence: Int
    """Sequence of each occurrence, shape (o,); numbered by their first occurrences."""


def find_sequences(analysis: Analysis, chosen: Bool) -> Sequences:
    """Find the sequences that occur twice or more among chosen device events."""
    kernel, run = _runs(analysis, fusable(analysis) & chosen)
    name = analysis.trace.events.name[analysis.device_events.event[kernel]].astype(np.int64)
    kernel, occurrence, content = _occurrences(kernel, run, name)
    often = np.bincount(content) > 1 if len(content) else np.zeros(0, bool)
    kept = often[content]
    number = np.cumsum(kept) - 1
    mine = kept[occurrence]
    return Sequences(kernel[mine], number[occurrence[mine]], _by_first(content[kept]))


def fusable(analysis: Analysis) -> Bool:
    """Kernels of kinds that can be fused, launched in the trace; shape (d,)."""
    events, device_events = analysis.trace.events, analysis.device_events
    names = events.name[device_events.event]
    left_out = analysis.trace.strings.map(names, _LEFT_OUT.match, bool)
    fusable = (
        device_events.is_kernel & isin(analysis.kinds.kind, _FUSABLE) & (device_events.launch >= 0)
    )
    return np.asarray(fusable & ~left_out)


def _runs(analysis: Analysis, wanted: Bool) -> tuple[DeviceEventIndex, Int]:
    """Wanted kernels with others next to them on their stream, and the run of each.

    A run is of one step and phase.
    """
    work = analysis.device_events
    order = np.lexsort((work.event, work.start, work.stream, work.device))
    step = analysis.device_event_step
    phase = lookup(analysis.phases.row, work.launch)
    breaks = np.ones(len(order), bool)
    breaks[1:] = ~(wanted[order][1:] & wanted[order][:-1])
    for column in (work.device, work.stream, step, phase):
        breaks[1:] |= column[order][1:] != column[order][:-1]
    run = (np.cumsum(breaks) - 1)[wanted[order]]
    kernel = order[wanted[order]]
    many = np.bincount(run, minlength=1)[run] > 1
    return kernel[many], dense_rank(run[many])


def _occurrences(
    kernel: DeviceEventIndex, run: Int, name: Int
) -> tuple[DeviceEventIndex, Int, Int]:
    """Kernels of occurrences, the occurrence of each, and what each occurrence consists of."""
    begin = np.append(np.flatnonzero(np.diff(run, prepend=-1)), len(run))
    names = name.tolist()
    pieces: list[tuple[int, int]] = []
    contents: list[int] = []
    known: dict[tuple[int, ...], int] = {}
    cuts: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for first, end in zip(begin[:-1].tolist(), begin[1:].tolist(), strict=True):
        whole = tuple(names[first:end])
        if whole not in cuts:
            cuts[whole] = list(cut(whole))
        for low, high in cuts[whole]:
            pieces.append((first + low, first + high))
            contents.append(known.setdefault(whole[low:high], len(known)))
    bounds = np.array(pieces, np.int64).reshape(-1, 2)
    at, occurrence = ranges(*bounds.T)
    return kernel[at], occurrence, np.array(contents, np.int64)


def cut(run: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Begin and end of the sequences of a run, which are of two kernels or more."""
    if len(run) <= SHORT:
        yield 0, len(run)
        return
    since, place = 0, 0
    repeated = _repeats(np.array(run))
    while place < len(run):
        period, times = repeated[place]
        if times < 2:
            place += 1
            continue
        if place - since > 1:
            yield since, place
        yield from ((place + at * period, place + (at + 1) * period) for at in range(times))
        since = place = place + period * times
    if place - since > 1:
        yield since, place


def _repeats(run: Int) -> list[tuple[int, int]]:
    """What begins at each kernel and follows itself directly: its length, and how often it comes.

    Of several the one that covers most, then the shortest; 1 time where nothing does.
    """
    size = len(run)
    best, covered = np.ones((size, 2), np.int64), np.zeros(size, np.int64)
    for period in range(2, SHORT + 1):
        differs = np.append(np.flatnonzero(run[period:] != run[:-period]), size - period)
        at = np.arange(size - period)
        alike = differs[np.searchsorted(differs, at)] - at
        times = alike // period + 1
        better = np.flatnonzero((times > 1) & (times * period > covered[: size - period]))
        covered[better] = times[better] * period
        best[better] = np.stack([np.full(len(better), period), times[better]], axis=1)
    return [(period, times) for period, times in best.tolist()]


def _by_first(content: Int) -> Int:
    """Numbers from 0 in the order in which values first come."""
    if not len(content):
        return content
    rank = dense_rank(content)
    place = np.argsort(np.argsort(first_of_each(rank)))
    return np.asarray(place[rank])
