"""Classes of blocks, and live bytes by class after each event of the allocators.

What was live before the recording is the first total less its own amount, and less the frees whose
allocation is not in the recording from then on. Where totals move by more than the events between
them, the difference is `unknown`.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from functools import cached_property

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.host.rows import HostRows, Role
from tb_hookview.analysis.memory.blocks import AllocatorEvents, MemoryBlocks
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import unique, unique_inverse
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import (
    Bool,
    Int,
    Intervals,
    ModuleIndex,
    Nanoseconds,
    TimeSet,
    TreeRow,
)
from tb_hookview.schema.terms import Phase

# Class of each block: what it is to the training step, by where it was allocated and freed.
#
#     forward    |--- fc ---|                                  activation  born in the forward, live
#     backward                  |- node a -||- node b -|                   as a backward pass begins
#     optimizer                                         |step| temporary   freed before that
#     block 1       o...............x
#     block 2       o...x
#     block 3                      o....x                      temporary   freed within its pass
#     block 4                      o........................   gradient    outlives its pass
#     block 5                                             o..  optimizer state   outlives the step
#
# - `activation`: allocated in the forward, live when the next backward pass begins.
# - `recomputed`: the same, allocated in a forward that runs again within a node.
# - `gradient`: allocated in a backward pass, live after its last node.
# - `optimizer_state`: allocated in an optimizer's step, live after it.
# - `input`: allocated in no phase or by a loader, and live when a phase begins: batches, mostly.
# - `activation`, too: allocated in an operator that made a node, and never freed in a recording
# with
#   no backward pass after it (a forward with gradients on whose graph is kept).
# - `temporary`: freed earlier than those.
# - `before_recording`: allocated before the recording.
# - `workspace`: a library's of matrix products (`workspaces.py`).
# - `unknown`: an activation or an input that outlives the step after its own, or has no end and no
#   backward pass in the recording; what a trace without totals lacks.
#
# A backward pass is time in nodes without forward or optimizer between. `parameter` is a part of
# what was allocated before the recording, by the recorder's manifest (`live.py`).


NEVER = np.iinfo(np.int64).max
"""Time of the free of a block that is not freed in the recording."""


class MemoryClass(IntEnum):
    """Class of a block, in the order in which a stack of them is drawn."""

    PARAMETER = 0
    OPTIMIZER_STATE = 1
    GRADIENT = 2
    ACTIVATION = 3
    RECOMPUTED = 4
    INPUT = 5
    TEMPORARY = 6
    BEFORE_RECORDING = 7
    WORKSPACE = 8
    UNKNOWN = 9


class Lives(Struct, frozen=True):
    """Where blocks were allocated and freed; arrays of shape (b,), rows -1 for none."""

    birth_row: TreeRow
    death_row: TreeRow
    birth: Nanoseconds
    """Allocated at; of a block from before the recording the time of its free."""
    death: Nanoseconds
    """Freed at, `NEVER` for not within the recording."""
    phase: Int
    """`Phase` of the allocation; -1 before the recording."""
    module: ModuleIndex
    """Module that allocated it."""
    recompute: Bool
    """Whether it was allocated in a forward that runs again within a node."""
    freed_in_recompute: Bool
    """Whether it was freed in one."""
    in_graph: Bool
    """Whether it was allocated in an operator that made an autograd node."""


class Passes(Struct, frozen=True):
    """Backward passes in order; shape (p,)."""

    start: Nanoseconds
    end: Nanoseconds

    def next_start(self, time: Nanoseconds) -> Nanoseconds:
        """Start of the first pass after each moment, `NEVER` for none."""
        return _following(self.start, time)

    def end_around(self, time: Nanoseconds) -> Nanoseconds:
        """End of the pass that began last before each moment."""
        if not len(self.start):
            return time
        place = np.searchsorted(self.start, time, side="right") - 1
        return np.where(place >= 0, self.end[np.maximum(place, 0)], time)


def find_lives(
    events: AllocatorEvents,
    blocks: MemoryBlocks,
    phase: Int,
    module: ModuleIndex,
    recompute: Bool,
    in_graph: Bool,
) -> Lives:
    """Look up where blocks were allocated and freed.

    Args:
        events: events of the allocators.
        blocks: blocks of memory.
        phase, module, recompute, in_graph: of each row of the call tree.
    """
    birth_row = np.where(blocks.birth >= 0, lookup(events.row, blocks.birth), -1)
    death_row = np.where(blocks.death >= 0, lookup(events.row, blocks.death), -1)
    of_birth = np.where(birth_row >= 0, lookup(phase, birth_row), int(Phase.OTHER))
    return Lives(
        birth_row=birth_row,
        death_row=death_row,
        birth=events.time[blocks.first],
        death=np.where(blocks.death >= 0, lookup(events.time, blocks.death), NEVER),
        phase=np.where(blocks.birth >= 0, of_birth, -1),
        module=lookup(module, birth_row),
        recompute=lookup(recompute, birth_row) == 1,
        freed_in_recompute=lookup(recompute, death_row) == 1,
        in_graph=lookup(in_graph, birth_row) == 1,
    )


def find_passes(times: Sequence[TimeSet]) -> Passes:
    """Join the time in nodes to passes, given the host time of each phase."""
    nodes = times[Phase.BACKWARD]
    if not len(nodes):
        return Passes(nodes[:, 0], nodes[:, 1])
    between = _between(times)
    number = np.searchsorted(between, nodes[:, 0])
    opens = np.flatnonzero(np.append(True, np.diff(number) != 0))
    closes = np.append(opens[1:] - 1, len(nodes) - 1)
    return Passes(nodes[opens, 0], nodes[closes, 1])


def classify(host: HostRows, lives: Lives, times: Sequence[TimeSet], windows: Intervals) -> Int:
    """`MemoryClass` of each block, shape (b,).

    Args:
        host: host rows.
        lives: lives of the blocks.
        times: host time of each phase, from `Phases.time`.
        windows: start and end of the steps in which the host worked, shape (s, 2).
    """
    context = _Context(host, times, windows, find_passes(times))
    found = np.full(len(lives.birth), int(MemoryClass.UNKNOWN))
    found[lives.phase < 0] = MemoryClass.BEFORE_RECORDING
    for phases_of, decide in (
        ((Phase.FORWARD,), _forward),
        ((Phase.BACKWARD,), _backward),
        ((Phase.OPTIMIZER,), _optimizer),
        ((Phase.OTHER, Phase.DATA), _outside),
    ):
        chosen = np.isin(lives.phase, phases_of)
        if chosen.any():
            found[chosen] = decide(context, lives)[chosen]
    return found


class _Context(Struct, frozen=True):
    host: HostRows
    times: Sequence[TimeSet]
    windows: Intervals
    passes: Passes


def _forward(context: _Context, lives: Lives) -> Int:
    survives = lives.death >= context.passes.next_start(lives.birth)
    without_pass = context.passes.next_start(lives.birth) == NEVER
    kept = _kept(context.windows, lives) | (without_pass & (lives.death == NEVER))
    return _first_of(
        (_saved(context, lives), MemoryClass.ACTIVATION),
        (kept, MemoryClass.UNKNOWN),
        (survives, MemoryClass.ACTIVATION),
        (np.ones(len(survives), bool), MemoryClass.TEMPORARY),
    )


def _backward(context: _Context, lives: Lives) -> Int:
    end = context.passes.end_around(lives.birth)
    return _first_of(
        (lives.recompute & lives.freed_in_recompute, MemoryClass.TEMPORARY),
        (lives.recompute & (lives.death <= end), MemoryClass.RECOMPUTED),
        (lives.recompute, MemoryClass.UNKNOWN),
        (lives.death <= end, MemoryClass.TEMPORARY),
        (np.ones(len(end), bool), MemoryClass.GRADIENT),
    )


def _optimizer(context: _Context, lives: Lives) -> Int:
    tree = context.host.call_tree
    step = _outermost(context.host, Role.OPTIMIZER)[np.maximum(lives.birth_row, 0)]
    end = np.where(step >= 0, lookup(tree.end, step), lives.birth)
    return _first_of(
        ((step >= 0) & (lives.death <= end), MemoryClass.TEMPORARY),
        (step >= 0, MemoryClass.OPTIMIZER_STATE),
        (_kept(context.windows, lives), MemoryClass.UNKNOWN),
        (np.ones(len(end), bool), MemoryClass.TEMPORARY),
    )


def _outside(context: _Context, lives: Lives) -> Int:
    begins = np.concatenate([context.times[Phase.BACKWARD][:, 0], _between(context.times)])
    following = _following(np.sort(begins), lives.birth)
    endless = (following == NEVER) & (lives.death == NEVER)
    return _first_of(
        (_saved(context, lives), MemoryClass.ACTIVATION),
        (_kept(context.windows, lives) | endless, MemoryClass.UNKNOWN),
        (lives.death >= following, MemoryClass.INPUT),
        (np.ones(len(following), bool), MemoryClass.TEMPORARY),
    )


def _saved(context: _Context, lives: Lives) -> Bool:
    """Blocks of a graph that the recording neither evaluates nor frees."""
    without_pass = context.passes.next_start(lives.birth) == NEVER
    return np.asarray(lives.in_graph & without_pass & (lives.death == NEVER))


def _kept(windows: Intervals, lives: Lives) -> Bool:
    """Blocks that outlive the step after their own."""
    at = np.searchsorted(windows[:, 0], lives.birth, side="right") - 1
    last = len(windows) - 1
    next_end = windows[np.minimum(at + 1, last), 1]
    return np.asarray((lives.death > next_end) & (at < last))


def _outermost(host: HostRows, role: Role) -> TreeRow:
    """Outermost row of a role around each row of the call tree, itself included; -1 for none."""
    wanted = host.role == role
    return host.call_tree.nearest(wanted & (host.call_tree.nearest_above(wanted) < 0))


def _between(times: Sequence[TimeSet]) -> Nanoseconds:
    """Starts of the time in forward and optimizer, ascending."""
    both = np.concatenate([times[Phase.FORWARD], times[Phase.OPTIMIZER]])
    return np.asarray(intervals.normal(both)[:, 0])


def _following(starts: Nanoseconds, time: Nanoseconds) -> Nanoseconds:
    """First of some ascending moments after each time, `NEVER` for none."""
    return np.append(starts, NEVER)[np.searchsorted(starts, time, side="right")]


def _first_of(*cases: tuple[Bool, MemoryClass]) -> Int:
    return np.select([test for test, _ in cases], [int(name) for _, name in cases])


class LiveBytes(Struct, frozen=True, dict=True):
    """Live bytes of each class after some events, given by their positions."""

    events: AllocatorEvents
    blocks: MemoryBlocks
    kind: Int
    """`MemoryClass` of each block, shape (b,)."""
    parameters: tuple[int, ...]
    """Bytes of the parameters that were on each device before the recording; 0 for unknown."""

    def of(self, kind: MemoryClass, at: Int) -> Int:
        """Live bytes of a class after some events, shape (p,)."""
        if kind is MemoryClass.PARAMETER:
            return self._of_devices(self.parameters, at)
        if kind is MemoryClass.BEFORE_RECORDING:
            return self._before(at) - self._of_devices(self.parameters, at)
        live = self.born(self.kind == kind, at)
        if kind is not MemoryClass.UNKNOWN:
            return live
        seen = self.born(np.ones(len(self.blocks), bool), at)
        unexplained = self.events.allocated[at] - self._before(at) - seen
        return live + unexplained * self._of_devices(self._known, at)

    def born(self, chosen: Bool, at: Int) -> Int:
        """Live bytes after some events of some blocks allocated in the recording, shape (p,)."""
        return self._live(chosen & (self.blocks.birth >= 0), at)

    def _before(self, at: Int) -> Int:
        """Bytes from before the recording, shape (p,); 0 where totals are unknown.

        What is freed beyond what there was had been allocated unseen: on a thread that is not
        watched.
        """
        events, old = self.events, self.blocks.birth < 0
        first = [0] * len(self._known)
        for device in np.flatnonzero(self._known).tolist():
            freed = self.blocks.size[old & (self.blocks.device == device)].sum()
            start = events.of(device).start
            first[device] = int(events.allocated[start] - events.amount[start] - freed)
        there = self._of_devices(self._known, at) * self._live(old, at)
        return np.asarray(np.maximum(there + self._of_devices(first, at), 0))

    @cached_property
    def _known(self) -> list[bool]:
        """Whether the totals of each device are known."""
        return [self.events.totals_known(device) for device in range(len(self.parameters))]

    def _of_devices(self, values: Sequence[int], at: Int) -> Int:
        """Value of the device of each of some events."""
        return np.array(values, np.int64)[self.events.device[at]]

    def _live(self, chosen: Bool, at: Int) -> Int:
        """Bytes of some blocks that are live after each of some events."""
        asked, place = unique_inverse(at)
        change, rows = np.zeros(len(asked) + 1, np.int64), np.flatnonzero(chosen)
        size = self.blocks.size[rows]
        for since, by in zip(self._between, (size, -size), strict=True):
            np.add.at(change, np.searchsorted(asked, since[rows]), by)
        return np.cumsum(change)[place]

    @cached_property
    def _between(self) -> tuple[Int, Int]:
        """First event after which each block is live, and first after which it is not any more."""
        blocks, first = self.blocks, self.events.first
        return (
            np.where(blocks.birth >= 0, blocks.birth, first[blocks.device]),
            np.where(blocks.death >= 0, blocks.death, first[blocks.device + 1]),
        )


def parameters_before(
    events: AllocatorEvents, blocks: MemoryBlocks, listed: dict[str, int]
) -> tuple[int, ...]:
    """Bytes of parameters among what was on each device before the recording.

    Args:
        events: events of the allocators.
        blocks: blocks of memory.
        listed: bytes of parameters on each device, by the recorder's manifest.

    Returns:
        0 for a device whose allocator never held as much from before the recording, and for the
        CPU, whose total begins with the first recording of the process.
    """
    live = LiveBytes(events, blocks, np.zeros(len(blocks), np.int64), (0,) * len(events.devices))
    found = []
    for device, name in enumerate(events.devices):
        span, wanted = events.of(device), 0 if name == "cpu" else listed.get(name, 0)
        least = int(
            live.of(MemoryClass.BEFORE_RECORDING, np.arange(*span.indices(len(events)))).min()
        )
        found.append(wanted if least >= wanted else 0)
    return tuple(found)


# Live bytes over time as a bounded number of points, exact at every peak of theirs.


class Curve(Struct, frozen=True):
    """Points of a device in order of time, shape (c,); each level lasts until the next point."""

    time: Nanoseconds
    allocated: Int
    reserved: Int
    """-1 for unknown."""
    by_class: dict[MemoryClass, Int]
    """They sum to `allocated`; empty where blocks are unknown."""
    exact: bool
    """Whether every event of the window is a point."""


def curve(live: LiveBytes, device: int, begin: int, end: int, points: int) -> Curve:
    """Points of a window of time: of each of `points` / 2 equal parts its lowest and highest.

    The window's first point is the level at its start.
    """
    events = live.events
    span = events.of(device)
    times = events.time[span]
    first = max(int(np.searchsorted(times, begin, side="right")) - 1, 0)
    last = int(np.searchsorted(times, end, side="right"))
    at = np.arange(first, max(last, min(first + 1, len(times)))) + span.start
    exact = len(at) <= points
    if not exact:
        at = at[_extremes(events.time[at], events.allocated[at], points)]
    kinds = MemoryClass if len(live.blocks) else ()
    return Curve(
        time=np.maximum(events.time[at], begin),
        allocated=events.allocated[at],
        reserved=events.reserved[at],
        by_class={kind: live.of(kind, at) for kind in kinds},
        exact=exact,
    )


def _extremes(time: Nanoseconds, level: Int, points: int) -> Int:
    """Ascending indices of the first highest and lowest level of equal parts of the time."""
    parts = max(points // 2 - 1, 1)
    width = max(int(time[-1] - time[0]) + 1, 1)
    part = ((time - time[0]) * parts) // width
    chosen = [np.array([0, len(time) - 1])]
    for sign in (1, -1):
        order = np.lexsort((sign * level, part))
        opens = np.flatnonzero(np.append(True, np.diff(part[order]) != 0))
        chosen.append(order[opens])
    return unique(np.concatenate(chosen))
