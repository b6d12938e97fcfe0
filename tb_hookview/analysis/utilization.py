"""FLOPs and utilization of the parts of a trace: steps, or modules."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.types import Bool, Float, Int


class Utilization(Struct, frozen=True):
    """Sums over the parts, shape (p,); times in nanoseconds."""

    device: Float
    flops: Float
    recomputed: Float
    """The part of `flops` that was recomputed."""
    spent: Float
    """Time of the calls of known FLOPs: on the device, or without one on the host."""
    unknown: Float
    """Device time of products, convolutions and attention of unknown FLOPs."""
    moved: Float
    """Bytes of these calls; NaN where those of one are unknown."""
    at_peak: Float
    """Time that the FLOPs take at the peak; NaN where that of one is unknown."""
    model_at_peak: Float
    """The same of those that were not recomputed."""


def utilization(selection: Selection, row_part: Int, event_part: Int, size: int) -> Utilization:
    """Sum up what belongs to each of `size` parts.

    Args:
        selection: what counts.
        row_part: part of each row of the call tree, -1 for none.
        event_part: part of each device event, -1 for none.
        size: number of parts.
    """
    analysis = selection.analysis
    work, events = analysis.device_work, analysis.device_events
    call = analysis.counted_calls & selection.rows & (row_part >= 0)
    event = selection.device_events & (event_part >= 0)
    again, rerun = analysis.attribution.row_recompute, analysis.device_attribution.recompute

    def of_calls(values: Float | Int, wanted: Bool = call) -> Float:
        return _sums(row_part[wanted], values[wanted], size)

    def of_events(values: Float | Int, wanted: Bool) -> Float:
        return _sums(event_part[wanted & event], values[wanted & event], size)

    known = work.call >= 0
    spent = of_events(events.duration, known)
    return Utilization(
        device=of_events(events.duration, event),
        flops=of_calls(analysis.call_work.flops),
        recomputed=of_calls(analysis.call_work.flops, call & again),
        spent=spent if len(events) else of_calls(analysis.call_tree.duration),
        unknown=of_events(events.duration, work.works & ~known),
        moved=of_calls(analysis.call_work.bytes),
        at_peak=of_events(analysis.time_at_peak, known),
        model_at_peak=of_events(analysis.time_at_peak, known & ~rerun),
    )


def _sums(part: Int, values: Float | Int, size: int) -> Float:
    return np.bincount(part, values, minlength=size).astype(np.float64)
