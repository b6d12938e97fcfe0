"""Steps of one rank as a run compares them: on its host's clock, or on its device's.

    host      |-- step 1 --|-- step 2 --|
    device         |--- of 1 ---|--- of 2 ---|
    here           |-- step 1 --|-- step 2 --|     the device needs longer, and is behind

A mean of them is `verdict.step_us` of the rank's report: what the replay takes a step to be. Not
where the device is far behind and yet takes no longer: the host's steps hold its work for others.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.collectives.calls import CALLS, CollectiveCalls
from tb_hookview.analysis.compiled.graphs import GRAPH_CALL
from tb_hookview.analysis.dependencies.points import find_window
from tb_hookview.analysis.device.kinds import COMMUNICATION
from tb_hookview.analysis.host.activity import microbatch_ranges
from tb_hookview.analysis.host.rows import Role
from tb_hookview.analysis.selection import Selection
from tb_hookview.analysis.steps import Steps
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import isin
from tb_hookview.arrays.types import Bool, Int, Nanoseconds, TimeSet
from tb_hookview.trace import EventCategory

_FAR = 0.2
"""Part of a mean step from which on a device that is behind at the ends of all steps runs much of
another step's work in the host's."""


def timed_steps(analysis: Analysis) -> Steps:
    """Steps of an analysis with windows that have all of their time, device work included.

    Measured steps follow each other without a gap. Where the device takes longer for them than the
    host, or is far behind it at all their ends, each lasts from the end of its work for the step
    before to the end of that for this one.
    """
    steps, counted = analysis.steps, np.flatnonzero(analysis.steps.counted)
    if not len(counted):
        return steps
    first, last = int(counted[0]), int(counted[-1])
    bounds = np.append(steps.window[first : last + 1, 0], steps.window[last, 1])
    behind = _device_bounds(analysis, first, last)
    if behind is not None:
        lag, least = behind - bounds, _FAR * (bounds[-1] - bounds[0]) / (len(bounds) - 1)
        if lag[-1] > lag[0] or lag.min() > least:
            bounds = behind
    window = steps.window.copy()
    window[first : last + 1] = intervals.between(bounds)
    if first > 0:
        window[first - 1, 1] = bounds[0]
    window[last + 1 :] = np.maximum(window[last + 1 :], bounds[-1])
    return replace(steps, window=window)


def _device_bounds(analysis: Analysis, first: int, last: int) -> Nanoseconds | None:
    """When the device is done with all before the first step, with it, ... and with the last one.

    None where too few launches are known for that. It is no earlier than the host.
    """
    steps, window = analysis.steps, find_window(Selection(analysis, None))
    if window.refusal() is not None:
        return None
    end = analysis.device_events.end[window.events]
    done = np.append(steps.window[first + 1 : last + 1, 0], steps.window[last, 1])
    mine = window.step >= 0
    np.maximum.at(done, np.array(window.steps)[window.step[mine]] - first, end[mine])
    before = end[window.history].max(initial=window.start) if steps.marked else window.start
    return np.asarray(np.maximum.accumulate(np.append(before, done)))


class StepTimes(Struct, frozen=True):
    """Steps of a rank, shape (s,); times in nanoseconds."""

    name: tuple[str, ...]
    marked: bool
    """Whether the trace shows steps; else its one step is the whole trace."""
    counted: Bool
    host_start: Nanoseconds
    start: Nanoseconds
    """The same, or when the device began with it, as of `timed_steps`."""
    duration: Nanoseconds
    compute: Nanoseconds
    """Time in which something but collectives ran: on a device or, without one, operators, less
    waits for other ranks."""
    communication: Nanoseconds
    """Time in which a collective ran, waiting for other ranks included."""
    exposed: Nanoseconds
    """The part of it in which nothing computed."""
    idle: Nanoseconds
    """Time in which nothing computed and no collective ran."""
    microbatches: Int
    """Ranges that mark the forward of a microbatch."""


def step_times(analysis: Analysis, steps: Steps, calls: CollectiveCalls) -> StepTimes:
    """Measure the steps of a rank.

    Args:
        analysis: of its trace.
        steps: its steps, as `timed_steps`.
        calls: its collectives.
    """
    communication = intervals.of(calls.start, calls.end)
    compute = _compute(analysis)
    busy = intervals.normal(np.concatenate([communication, compute]))
    exposed = intervals.subtract(communication, compute)
    duration = steps.window[:, 1] - steps.window[:, 0]
    forward = microbatch_ranges(analysis.host).forward_rows
    step = analysis.steps.at(analysis.call_tree.start[forward])
    return StepTimes(
        name=steps.name,
        marked=steps.marked,
        counted=steps.counted,
        host_start=analysis.steps.window[:, 0],
        start=steps.window[:, 0],
        duration=duration,
        compute=intervals.lengths_within(compute, steps.window),
        communication=intervals.lengths_within(communication, steps.window),
        exposed=intervals.lengths_within(exposed, steps.window),
        idle=duration - intervals.lengths_within(busy, steps.window),
        microbatches=np.bincount(step[step >= 0], minlength=len(steps.name)),
    )


def _compute(analysis: Analysis) -> TimeSet:
    """Time of device events that are no communication; without any, of operators and compiled code.

    What Inductor generates for a CPU runs without an operator, in the call of its graph.
    """
    if len(analysis.device_events):
        return analysis.device_events.time_of(analysis.kinds.kind != COMMUNICATION)
    host, tree = analysis.host, analysis.call_tree
    plain = isin(host.role, [int(Role.NONE), int(Role.NODE), int(Role.GRADIENT_SINK)])
    rows = plain & (host.kind == EventCategory.OPERATOR)
    rows[host.named(lambda name: GRAPH_CALL.match(name) is not None)] = True
    rows[host.named(lambda name: name.startswith(CALLS))] = False
    return intervals.subtract(
        intervals.of(tree.start[rows], tree.end[rows]), analysis.communication_waits
    )
