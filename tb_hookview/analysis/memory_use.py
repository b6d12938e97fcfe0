"""`MemoryUse`: all that a trace shows of its memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.analysis.memory.blocks import (
    AllocatorEvents,
    MemoryBlocks,
    allocator_events,
    find_blocks,
)
from tb_hookview.analysis.memory.live import (
    NEVER,
    LiveBytes,
    Lives,
    MemoryClass,
    classify,
    find_lives,
    parameters_before,
)
from tb_hookview.analysis.modules.attribution import Attribution
from tb_hookview.analysis.phases import Phases
from tb_hookview.analysis.steps import Steps
from tb_hookview.arrays.joins import dense_rank, isin, mask_of, ordinal
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.sums import sum_by
from tb_hookview.arrays.types import Bool, Int, Intervals, ModuleIndex, StepIndex, TreeRow
from tb_hookview.trace.format.manifest import Manifest

# Workspaces that libraries of matrix products keep for as long as the process runs.


_PRODUCTS = (
    *("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::addbmm"),
    *("aten::mv", "aten::addmv", "aten::dot", "aten::vdot"),
    *("aten::_addmm_activation", "aten::_int_mm", "aten::_scaled_mm"),
)
_NAMES = frozenset((*_PRODUCTS, *(f"{name}_" for name in _PRODUCTS)))


def find_workspaces(host: HostRows, lives: Lives, of_device: Bool) -> Bool:
    """Blocks that a product allocated in addition to its result and never freed, shape (b,).

    Args:
        host: host rows.
        lives: lives of the blocks.
        of_device: which of them are memory of a device.
    """
    products, row = host.named(_NAMES.__contains__), lives.birth_row
    outlives = (lives.death > lookup(host.call_tree.end, row)) & (
        lookup(mask_of(products, len(host)), row) == 1
    )
    blocks = np.flatnonzero(outlives)
    found = np.zeros(len(row), bool)
    if len(blocks):
        results = ~_result_is_given(host, products, row[blocks])
        found[blocks] = ordinal(row[blocks]) >= results[row[blocks]]
    return np.asarray(found & of_device & (lives.death == NEVER))


def _result_is_given(host: HostRows, products: TreeRow, allocate: TreeRow) -> Bool:
    """Products whose result has its memory already (`out=`), shape (n,).

    They are those of an operator of which one of several calls on a thread allocates.
    """
    group = dense_rank(host.string[products], host.call_tree.thread[products])
    number = int(group.max()) + 1
    allocates = mask_of(allocate, len(host))[products]
    given = (sum_by(group, allocates, number) == 1) & (np.bincount(group) > 1)
    return mask_of(products[given[group]], len(host))


class Peaks(NamedTuple):
    """Peaks, shape (p,): of each device that of the whole trace, then those of its steps."""

    device: Int
    """Index into `AllocatorEvents.devices`."""
    step: StepIndex
    """-1 for the whole trace."""
    position: Int
    """First event after which the most bytes were allocated; for a step without a larger total
    than at its start, the last event before it."""


def find_peaks(events: AllocatorEvents, windows: Intervals) -> Peaks:
    """Find the peaks of each device whose totals are known; a step without events has none.

    Windows are the starts and ends of the steps, shape (s, 2).
    """
    found: list[tuple[int, int, int]] = []
    for device in range(len(events.devices)):
        if not events.totals_known(device):
            continue
        span = events.of(device)
        found.append((device, -1, span.start + int(events.allocated[span].argmax())))
        of_steps = peaks_within(events, device, windows)
        found += [(device, step, at) for step, at in enumerate(of_steps) if at >= 0]
    columns = np.array(found, np.int64).reshape(-1, 3)
    return Peaks(*columns.T)


def peaks_within(events: AllocatorEvents, device: int, windows: Intervals) -> list[int]:
    """Position of the peak of each window of time, -1 for one without an event of the device."""
    span = events.of(device)
    times = events.time[span]
    first = np.searchsorted(times, windows[:, 0]).tolist()
    last = np.searchsorted(times, windows[:, 1], side="right").tolist()
    found = []
    for begin, end in zip(first, last, strict=True):
        if begin == end:
            found.append(-1)
            continue
        begin = max(begin - 1, 0)  # the level at its start
        found.append(span.start + begin + int(events.allocated[span][begin:end].argmax()))
    return found


class MemoryUse(Struct, frozen=True, dict=True):
    """Blocks of torch's allocators, what each is, and peaks."""

    host: HostRows
    phases: Phases
    attribution: Attribution
    steps: Steps
    made_nodes: Bool
    """Rows of the call tree that made an autograd node."""

    @cached_property
    def events(self) -> AllocatorEvents:
        """Allocations and frees in order."""
        return allocator_events(self.host)

    @cached_property
    def blocks(self) -> MemoryBlocks:
        """Allocations with their frees."""
        return find_blocks(self.events)

    @cached_property
    def lives(self) -> Lives:
        """Where each block was allocated and freed."""
        of = self.attribution
        phase, graph = self.phases.row, self.host.call_tree.inside(self.made_nodes)
        return find_lives(self.events, self.blocks, phase, of.row_module, of.row_recompute, graph)

    @cached_property
    def kind(self) -> Int:
        """`MemoryClass` of each block."""
        found = classify(self.host, self.lives, self.phases.time, self.steps.worked)
        of_device = np.array([name != "cpu" for name in self.events.devices])[self.blocks.device]
        found[find_workspaces(self.host, self.lives, of_device)] = MemoryClass.WORKSPACE
        return found

    @cached_property
    def live(self) -> LiveBytes:
        """Live bytes by class over time."""
        listed = parameter_bytes(self.host.trace.manifest)
        parameters = parameters_before(self.events, self.blocks, listed)
        return LiveBytes(self.events, self.blocks, self.kind, parameters)

    @cached_property
    def peaks(self) -> Peaks:
        """Peak of each device, and of each step."""
        return find_peaks(
            self.events, self.steps.window[: len(self.steps.name) * self.steps.marked]
        )

    @cached_property
    def freed_in(self) -> ModuleIndex:
        """Module in whose row each block was freed."""
        return lookup(self.attribution.row_module, self.lives.death_row)

    def peak(self, device: int, steps: Sequence[int] | None) -> int:
        """Position of a device's peak, in the trace or in some steps; -1 for none known."""
        peaks = self.peaks
        wanted = peaks.step < 0 if steps is None else isin(peaks.step, steps)
        at = peaks.position[wanted & (peaks.device == device)]
        return int(at[self.events.allocated[at].argmax()]) if len(at) else -1

    def classes_at(self, positions: Int) -> list[dict[MemoryClass, int]]:
        """Live bytes by class after some events, without those of none; they sum to the totals."""
        columns = {kind: self.live.of(kind, positions).tolist() for kind in MemoryClass}
        return [
            {kind: sizes[place] for kind, sizes in columns.items() if sizes[place]}
            for place in range(len(positions))
        ]

    @property
    def addresses_known(self) -> bool:
        """Whether blocks are known; torch 1.9 wrote no addresses."""
        return bool(len(self.blocks))


def parameter_bytes(manifest: Manifest | None) -> dict[str, int]:
    """Bytes of parameters by device, if the recorder saw all of them on one."""
    device = manifest.content.get("device") if manifest else None
    listed = device.get("parameters") if isinstance(device, dict) else None
    if manifest is None or not isinstance(listed, list) or len(listed) != 1:
        return {}
    return {str(listed[0]): sum(module.bytes for module in manifest.modules)}
