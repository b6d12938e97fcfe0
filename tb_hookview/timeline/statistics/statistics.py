"""Statistics of a window; over the whole timeline they are those of the report."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays import intervals
from tb_hookview.arrays.types import TimeSet
from tb_hookview.arrays.units import to_us
from tb_hookview.schema import Phase
from tb_hookview.schema.timeline import DeviceStatistics, WindowStatistics
from tb_hookview.timeline.statistics.clipping import clip, sums
from tb_hookview.timeline.statistics.top import Bounds, rankings
from tb_hookview.timeline.timeline import Timeline
from tb_hookview.timeline.window.merging import touching


def statistics(timeline: Timeline, start: int, end: int) -> WindowStatistics:
    """Sums over a window, given in nanoseconds from the start of the trace."""
    window = (timeline.origin + start, timeline.origin + end)
    syncs = timeline.analysis.syncs
    inside = clip(syncs.start, syncs.end, window)
    ranked = list(rankings(timeline, window))
    return WindowStatistics(
        start=to_us(start),
        end=to_us(end),
        events=_events(timeline, window),
        host_blocked_us=to_us(_length_within(timeline.analysis.syncs.blocked, window)),
        waits=len(inside.row),
        sync_blocked_us=to_us(inside.time.sum()),
        phases=_phases(timeline, window),
        devices=_devices(timeline, window),
        top=[row for ranking in ranked for row in ranking.top()],
        omitted={ranking.kind: ranking.omitted for ranking in ranked},
    )


def _length_within(time: TimeSet, window: Bounds) -> int:
    return int(intervals.lengths_within(time, np.array([window], np.int64))[0])


def _events(timeline: Timeline, window: Bounds) -> int:
    count = 0
    for number in timeline.lanes_of("host", "device", "annotations"):
        lane = timeline.lane(number)
        for row in range(lane.rows):
            low, high = touching(lane, row, *window)
            count += high - low
    return count


def _phases(timeline: Timeline, window: Bounds) -> dict[str, float]:
    """Host time of each phase that is known, within steps; the rest of a step is `other`."""
    phases, steps = timeline.analysis.phases, timeline.analysis.steps.window
    inside = clip(steps[:, 0], steps[:, 1], window)
    windows = np.stack([inside.start, inside.end], axis=1)
    known = {Phase.FORWARD: phases.forward_known}
    spent = {
        phase: int(intervals.lengths_within(phases.time[phase], windows).sum())
        for phase in (Phase.FORWARD, Phase.BACKWARD, Phase.OPTIMIZER, Phase.DATA)
        if known.get(phase, phases.known)
    }
    spent[Phase.OTHER] = int(inside.time.sum()) - sum(spent.values())
    return {phase.name.lower(): to_us(time) for phase, time in spent.items()}


def _devices(timeline: Timeline, window: Bounds) -> list[DeviceStatistics]:
    gaps = timeline.analysis.gaps
    names = {device.id: device.name for device in timeline.analysis.trace.devices}
    inside = clip(gaps.start, gaps.end, window)
    found = []
    for device, busy in timeline.analysis.device_events.busy.items():
        mine = gaps.device[inside.row] == device
        idle = sums(gaps.cause[inside.row][mine], inside.time[mine], len(Cause))
        found.append(
            DeviceStatistics(
                id=str(device),
                name=names.get(device, ""),
                busy_us=to_us(_length_within(busy, window)),
                idle_us=to_us(idle.sum()),
                idle_by_cause={c.name.lower(): to_us(idle[c]) for c in Cause},
            )
        )
    return found
