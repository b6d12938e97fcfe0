"""The lane of steps, and below each the phases it went through.

    exact      [fw] [fw][fw]           [fw]  [bw][bw] [bw]   [opt]
    lane       [- forward -]           [fw]  [ backward -]   [opt]

A phase goes on over short gaps, in which the host is in no phase: up to a hundredth of the step.
They are not in the report's `forward_us` and its like.
"""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.types import Int, Intervals, Nanoseconds, TimeSet
from tb_hookview.timeline.lanes.colours import OF_PHASE, Colour
from tb_hookview.timeline.lanes.lane import LaneItems
from tb_hookview.timeline.lanes.names import LaneNames

GAP_SHARE = 100
"""A gap within a phase may take one part in this many of its step."""


def step_items(analysis: Analysis, names: LaneNames) -> LaneItems:
    """Steps, and the spans of their phases.

    The source of an item is its step, -1 for that of a phase.
    """
    window = analysis.steps.window
    start, end, phase = phase_spans(analysis)
    steps = np.arange(len(window))
    return LaneItems(
        start=np.concatenate([window[:, 0], start]),
        end=np.concatenate([window[:, 1], end]),
        name=np.concatenate([names.step + steps, names.phase + phase]),
        colour=np.concatenate([np.full(len(window), Colour.OTHER, np.uint8), OF_PHASE[phase]]),
        source=np.concatenate([steps, np.full(len(phase), -1)]),
    )


def phase_spans(analysis: Analysis) -> tuple[Nanoseconds, Nanoseconds, Int]:
    """Start, end and phase of each span, in order, cut at bounds of steps."""
    times = [_cut(time, unique(analysis.steps.window)) for time in analysis.phases.time]
    numbers = [np.full(len(time), number) for number, time in enumerate(times)]
    spans, phase = np.concatenate(times), np.concatenate(numbers)
    order = np.argsort(spans[:, 0], kind="stable")
    spans, phase = spans[order], phase[order]
    step = analysis.steps.at((spans[:, 0] + spans[:, 1]) // 2)
    goes_on = (phase[1:] == phase[:-1]) & (step[1:] == step[:-1]) & (step[1:] >= 0)
    window = analysis.steps.window[step[1:]]
    goes_on &= (spans[1:, 0] - spans[:-1, 1]) * GAP_SHARE <= window[:, 1] - window[:, 0]
    edge = np.ones(min(len(phase), 1), bool)
    opens, closes = np.concatenate([edge, ~goes_on]), np.concatenate([~goes_on, edge])
    return spans[opens, 0], spans[closes, 1], phase[opens]


def _cut(time: TimeSet, bounds: Nanoseconds) -> Intervals:
    """A set of time cut at some moments (ascending), in order."""
    place = np.searchsorted(time[:, 0], bounds, side="left") - 1
    inside = (place >= 0) & (time[np.maximum(place, 0), 1] > bounds) if len(time) else place >= 0
    start = np.sort(np.concatenate([time[:, 0], bounds[inside]]))
    end = np.sort(np.concatenate([time[:, 1], bounds[inside]]))
    return np.stack([start, end], axis=1)
