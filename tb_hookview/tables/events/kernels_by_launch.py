"""Device events by name, launching operator and configuration of the launch."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.operators import OperatorCalls
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.joins import dense_rank
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.sums import heaviest, weighted_mean
from tb_hookview.arrays.types import Bool, DeviceEventIndex, Float, Int, Nanoseconds
from tb_hookview.tables.events.keys import first_events
from tb_hookview.tables.events.names import PHASES, Columns, Names, kind_texts
from tb_hookview.tables.events.operator_columns import argument, ratio
from tb_hookview.tables.model.values import Arrays, Numbers, Texts, known, microseconds


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
            **_key_columns(groups),
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


def _key_columns(groups: _Groups) -> Columns:
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
    least, most = np.full(size, np.iinfo(np.int64).max), np.zeros(size, np.int64)
    np.minimum.at(least, groups.group, duration)
    np.maximum.at(most, groups.group, duration)
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
        return lookup(groups.calls.eligible.astype(np.int64), groups.calls.launcher[first]) > 0

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
        "module": lambda i: names.module(module[i]),
        "module_id": lambda i: known(module[i]),
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
