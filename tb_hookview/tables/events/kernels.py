"""Kernels by launch, sequences of them that one could replace, and the peaks of their devices."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.flops.peaks import name_of, peaks_of
from tb_hookview.analysis.operators import OperatorCalls, Sequences, find_sequences
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.joins import dense_rank, first_of_each, unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.sums import greatest_by, heaviest, least_by, weighted_mean
from tb_hookview.arrays.types import Bool, DeviceEventIndex, Float, Int, Nanoseconds
from tb_hookview.schema import PHASES
from tb_hookview.simulation.questions import fused, longest_kernels
from tb_hookview.simulation.simulator import Simulator
from tb_hookview.tables.events.names import Columns, Names, first_events, kind_texts
from tb_hookview.tables.events.operators import argument, ratio
from tb_hookview.tables.model.columns import Arrays, Numbers, Texts, known, microseconds


class _Groups(Struct, frozen=True):
    """Device events with equal name, kind, launching operator and configuration; shape (g,)."""

    selection: Selection
    mine: DeviceEventIndex
    """The selected device events, shape (m,)."""
    group: Int
    """Group of each of them."""
    first: DeviceEventIndex
    """The event of each group with the least row."""
    calls: OperatorCalls

    def sums(self, values: Nanoseconds | Float) -> Float:
        """Sums by group of a column over all device events."""
        sums = np.bincount(self.group, values[self.mine], minlength=len(self.first))
        return sums.astype(np.float64)

    @property
    def duration(self) -> Nanoseconds:
        """Duration of each selected event."""
        return self.selection.analysis.device_events.duration[self.mine]

    def mean(self, values: Float) -> Float:
        """Mean of a column of the trace's events, by duration."""
        event = self.selection.analysis.device_events.event[self.mine]
        return weighted_mean(self.group, len(self.first), self.duration, values[event])


def kernels_by_launch(selection: Selection) -> Arrays:
    """The table `kernels_by_launch`: those with an event launched in a selected step."""
    groups = _group(selection)
    return Arrays(
        np.arange(len(groups.first)),
        {
            **_launch_columns(groups),
            **_time_columns(groups),
            **_device_columns(groups),
            **_owner_columns(groups),
            **_work_columns(groups),
        },
    )


def _group(selection: Selection) -> _Groups:
    analysis, calls = selection.analysis, OperatorCalls(selection)
    events, device_events = analysis.trace.events, analysis.device_events
    mine = np.flatnonzero(selection.device_events)
    event = device_events.event[mine]
    columns = (events.name, events.kind, events.grid, events.block)
    group = dense_rank(
        analysis.kinds.kind[mine],
        lookup(analysis.host.string, calls.launcher[mine]),
        *(column[event].astype(np.int64) for column in columns),
        events.registers[event],
        events.shared_memory[event],
    )
    least = first_events(group, event)
    at = np.zeros(len(least), np.int64)
    chosen = np.flatnonzero(event == least[group])
    at[group[chosen]] = mine[chosen]
    return _Groups(selection, mine, group, at, calls)


def _launch_columns(groups: _Groups) -> Columns:
    analysis, first = groups.selection.analysis, groups.first
    names, events, event = Names(analysis), analysis.trace.events, analysis.device_events.event
    texts, string = analysis.trace.texts.texts, analysis.host.string
    return {
        "id": lambda i: Numbers(event[first[i]]),
        "name": lambda i: names.event(event[first[i]]),
        "kind": lambda i: kind_texts(analysis.kinds.kind[first[i]]),
        "event": lambda i: names.category(event[first[i]]),
        "operator": lambda i: names.string(lookup(string, groups.calls.launcher[first[i]])),
        "grid": lambda i: argument(texts, events.grid[event[first[i]]]),
        "block": lambda i: argument(texts, events.block[event[first[i]]]),
        "registers": lambda i: known(events.registers[event[first[i]]]),
        "shared_memory": lambda i: known(events.shared_memory[event[first[i]]]),
    }


def _time_columns(groups: _Groups) -> Columns:
    size, duration = len(groups.first), groups.duration
    count = np.bincount(groups.group, minlength=size)
    total = np.bincount(groups.group, duration, minlength=size)
    least, most = (by(groups.group, duration, size) for by in (least_by, greatest_by))
    return {
        "count": lambda i: Numbers(count[i]),
        "total_us": lambda i: Numbers(total[i] / 1000),
        "mean_us": lambda i: Numbers(total[i] / count[i] / 1000),
        "min_us": lambda i: microseconds(least[i]),
        "max_us": lambda i: microseconds(most[i]),
    }


def _device_columns(groups: _Groups) -> Columns:
    analysis, first = groups.selection.analysis, groups.first
    core, events = analysis.kinds.tensor_core, analysis.trace.events

    def eligible() -> Bool:
        return lookup(groups.calls.eligible, groups.calls.launcher[first]) > 0

    return {
        "tensor_core": lambda i: Numbers(core[first[i]] > 0, core[first[i]] >= 0),
        "operator_eligible": lambda i: Numbers(eligible()[i]),
        "blocks_per_sm": lambda i: _measured(groups.mean(events.blocks_per_sm)[i]),
        "occupancy_pct": lambda i: _measured(groups.mean(events.occupancy)[i]),
    }


def _measured(values: Float) -> Numbers:
    return Numbers(values, ~np.isnan(values))


def _owner_columns(groups: _Groups) -> Columns:
    analysis, mine = groups.selection.analysis, groups.mine
    names, size, weight = Names(analysis), len(groups.first), groups.duration
    module, modules = heaviest(groups.group, size, analysis.device_attribution.module[mine], weight)
    launched = lookup(analysis.phases.row, analysis.device_events.launch[mine])
    phase, _ = heaviest(groups.group, size, launched, weight)
    return {
        **names.module_columns(module),
        "modules": lambda i: Numbers(modules[i]),
        "phase": lambda i: Texts(PHASES, phase[i]),
    }


def _work_columns(groups: _Groups) -> Columns:
    analysis = groups.selection.analysis
    work = analysis.device_work
    working = work.flops > 0
    flops = groups.sums(work.flops)
    spent = groups.sums(np.where(working, analysis.device_events.duration, 0))
    at_peak = groups.sums(analysis.time_at_peak)
    moved = groups.sums(np.where(working, work.bytes, 0.0))
    return {
        "flops": lambda i: Numbers(flops[i], flops[i] > 0),
        "tflop_per_s": lambda i: ratio(flops[i], spent[i] * 1000),
        "peak_share": lambda i: ratio(at_peak[i], spent[i]),
        "flop_per_byte": lambda i: ratio(flops[i], moved[i]),
    }


REPLAYED = 10
"""Sequences whose gain is found: as many with the most time, and with the most kernels to remove.

Each takes a replay."""
_LISTED = 16
"""Names of kernels listed of each."""


class _Sequences(Struct, frozen=True, dict=True):
    """Sequences, shape (s,), with their occurrences and kernels."""

    selection: Selection

    @cached_property
    def found(self) -> Sequences:
        return find_sequences(self.selection.analysis, self.selection.device_events)

    @cached_property
    def calls(self) -> OperatorCalls:
        return OperatorCalls(self.selection)

    @cached_property
    def sequence(self) -> Int:
        """Sequence of each kernel, shape (k,)."""
        return np.asarray(self.found.sequence[self.found.occurrence])

    @cached_property
    def first(self) -> Int:
        """First occurrence of each sequence."""
        return first_of_each(self.found.sequence)

    @cached_property
    def begin(self) -> Int:
        """Place of the first kernel of each occurrence, and after the last one the end."""
        return np.append(first_of_each(self.found.occurrence), len(self.found.kernel))

    @cached_property
    def longest(self) -> Bool:
        return longest_kernels(self.found, self.calls)

    def time(self, chosen: Bool | None = None) -> Float:
        """Device time of each sequence's kernels, or of chosen ones; nanoseconds."""
        duration = self.selection.analysis.device_events.duration[self.found.kernel]
        weights = duration if chosen is None else np.where(chosen, duration, 0)
        return np.bincount(self.sequence, weights, minlength=len(self.first)).astype(np.float64)

    @cached_property
    def removable(self) -> Float:
        return self.time(~self.longest)

    def gone(self, number: int) -> DeviceEventIndex:
        """Kernels of a sequence that would be part of another."""
        return np.asarray(self.found.kernel[(self.sequence == number) & ~self.longest])

    @cached_property
    def gain(self) -> Float:
        """Nanoseconds per step that fusing each would gain at most; NaN for unknown."""
        gain = np.full(len(self.first), np.nan)
        simulator = self.selection.derived(Simulator)
        if not len(gain) or simulator.gains_unknown:
            return gain
        kernels = np.bincount(self.sequence[~self.longest], minlength=len(gain))
        most = [np.argsort(-each, kind="stable")[:REPLAYED] for each in (self.removable, kernels)]
        for number in unique(np.concatenate(most)).tolist():
            gain[number] = simulator.gain(fused(self.calls, self.gone(number)))
        return gain


def kernel_sequences(selection: Selection) -> Arrays:
    """The table `kernel_sequences`: of kernels launched in the selected steps."""
    table = _Sequences(selection)
    return Arrays(
        np.arange(len(table.first)),
        {**_sequence_columns(table), **_gain_columns(table), **_place_columns(table)},
    )


def _sequence_columns(table: _Sequences) -> Columns:
    analysis, found = table.selection.analysis, table.found
    names, event = Names(analysis), analysis.device_events.event
    first, begin = table.first, table.begin
    size = begin[first + 1] - begin[first]

    def name(number: int) -> str:
        kernels = found.kernel[begin[first[number]] : begin[first[number] + 1]]
        listed = [text or "" for text in names.event(event[kernels[:_LISTED]]).tolist()]
        more = len(kernels) - len(listed)
        return "\n".join([*listed, f"and {more} more"] if more else listed)

    return {
        "id": lambda i: Numbers(event[found.kernel[begin[first[i]]]]),
        "name": lambda i: [name(number) for number in i.tolist()],
        "kernels": lambda i: Numbers(size[i]),
        "count": lambda i: Numbers(np.bincount(found.sequence, minlength=len(first))[i]),
    }


def _gain_columns(table: _Sequences) -> Columns:
    return {
        "total_us": lambda i: Numbers(table.time()[i] / 1000),
        "removable_us": lambda i: Numbers(table.removable[i] / 1000),
        "gain_us_per_step": lambda i: Numbers(table.gain[i] / 1000, ~np.isnan(table.gain[i])),
    }


def _place_columns(table: _Sequences) -> Columns:
    analysis, found = table.selection.analysis, table.found
    names, work = Names(analysis), analysis.device_events
    duration, owner = work.duration[found.kernel], analysis.device_attribution.module[found.kernel]
    module, modules = heaviest(table.sequence, len(table.first), owner, duration)
    head = found.kernel[table.begin[table.first]]
    tail = found.kernel[table.begin[table.first + 1] - 1]
    return {
        **names.module_columns(module),
        "modules": lambda i: Numbers(modules[i]),
        "phase": lambda i: Texts(PHASES, lookup(analysis.phases.row, work.launch[head[i]])),
        "start_us": lambda i: microseconds(work.start[head[i]]),
        "span_us": lambda i: microseconds(work.end[tail[i]] - work.start[head[i]]),
    }


def device_peaks(selection: Selection) -> Arrays:
    """The table `device_peaks`: of the devices with events, by type; those unknown have none."""
    analysis = selection.analysis
    found = [
        (str(number), peaks, dtype)
        for number in unique(analysis.device_events.device).tolist()
        if (peaks := peaks_of(name_of(analysis.trace.devices, number)))
        for dtype in peaks.tflops
    ]
    return Arrays(
        np.arange(len(found)),
        {
            "id": Numbers,
            "device_id": lambda i: [found[place][0] for place in i.tolist()],
            "name": lambda i: [found[place][1].device for place in i.tolist()],
            "dtype": lambda i: [found[place][2] for place in i.tolist()],
            "tflop_per_s": lambda i: Numbers(
                np.array([found[p][1].tflops[found[p][2]] for p in i.tolist()], np.float64)
            ),
            "gb_per_s": lambda i: Numbers(
                np.array([found[p][1].gb_per_s for p in i.tolist()], np.float64)
            ),
            "source": lambda i: [found[place][1].source for place in i.tolist()],
            "confirmed": lambda i: [found[place][1].confirmed or None for place in i.tolist()],
        },
    )
