"""Sequences of kernels that one fused kernel could replace, and what that would gain."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.kernel_sequences import Sequences, find_sequences
from tb_hookview.analysis.operators import OperatorCalls
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.joins import first_of_each, unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.sums import heaviest
from tb_hookview.arrays.types import Bool, DeviceEventIndex, Float, Int
from tb_hookview.simulation.fusing import fused, longest_kernels
from tb_hookview.simulation.simulator import Simulator
from tb_hookview.tables.events.names import PHASES, Columns, Names
from tb_hookview.tables.model.values import Arrays, Numbers, Texts, known, microseconds

REPLAYED = 10
"""Sequences whose gain is found: as many with the most time, and with the most kernels to remove.

Each takes a replay."""
_LISTED = 16
"""Names of kernels listed of each."""


class _Table(Struct, frozen=True, dict=True):
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
        if not len(gain) or simulator.refused:
            return gain
        kernels = np.bincount(self.sequence[~self.longest], minlength=len(gain))
        most = [np.argsort(-each, kind="stable")[:REPLAYED] for each in (self.removable, kernels)]
        for number in unique(np.concatenate(most)).tolist():
            gain[number] = simulator.gain(fused(self.calls, self.gone(number)))
        return gain


def kernel_sequences(selection: Selection) -> Arrays:
    """The table `kernel_sequences`: of kernels launched in the selected steps."""
    table = _Table(selection)
    return Arrays(
        np.arange(len(table.first)),
        {**_key_columns(table), **_time_columns(table), **_place_columns(table)},
    )


def _key_columns(table: _Table) -> Columns:
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


def _time_columns(table: _Table) -> Columns:
    return {
        "total_us": lambda i: Numbers(table.time()[i] / 1000),
        "removable_us": lambda i: Numbers(table.removable[i] / 1000),
        "gain_us_per_step": lambda i: Numbers(table.gain[i] / 1000, ~np.isnan(table.gain[i])),
    }


def _place_columns(table: _Table) -> Columns:
    analysis, found = table.selection.analysis, table.found
    names, work = Names(analysis), analysis.device_events
    duration, owner = work.duration[found.kernel], analysis.device_attribution.module[found.kernel]
    module, modules = heaviest(table.sequence, len(table.first), owner, duration)
    head = found.kernel[table.begin[table.first]]
    tail = found.kernel[table.begin[table.first + 1] - 1]
    return {
        "module": lambda i: names.module(module[i]),
        "module_id": lambda i: known(module[i]),
        "modules": lambda i: Numbers(modules[i]),
        "phase": lambda i: Texts(PHASES, lookup(analysis.phases.row, work.launch[head[i]])),
        "start_us": lambda i: microseconds(work.start[head[i]]),
        "span_us": lambda i: microseconds(work.end[tail[i]] - work.start[head[i]]),
    }
