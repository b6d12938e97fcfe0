"""Use of a device by its kernels: torch_tb_profiler's utilization, efficiency, occupancy.

All are over one window: from the first step to the last, with the device events they launched.
Kernels count as far as they lie in it, whichever step launched them.
"""

from __future__ import annotations

import numpy as np

from tb_hookview.arrays import intervals
from tb_hookview.arrays.types import Float, Nanoseconds


def utilization(start: Nanoseconds, end: Nanoseconds, window: tuple[int, int]) -> float | None:
    """Share of the window in which any kernel ran; None for an empty window."""
    if window[1] <= window[0]:
        return None
    time = intervals.lengths_within(intervals.of(start, end), np.array([window], np.int64))
    return int(time[0]) / (window[1] - window[0])


def sm_efficiency(
    start: Nanoseconds, end: Nanoseconds, blocks: Float, window: tuple[int, int]
) -> float | None:
    """Mean over the window of blocks per multiprocessor, at most one; 0 to 1.

    Args:
        start, end: kernels, shape (k,), nanoseconds.
        blocks: `blocks per SM` of each, NaN for unknown.
        window: nanoseconds.

    Returns:
        None where it is unknown of every kernel.
    """
    start, end, used = _inside(start, end, np.where(blocks > 0, blocks, np.nan), window)
    if not len(used):
        return None
    time = np.concatenate([start, end])
    order = np.argsort(time, kind="stable")
    running = np.cumsum(np.concatenate([used, -used])[order])[:-1]
    passed = np.diff(time[order])
    return float((np.clip(running, 0, 1) * passed).sum() / (window[1] - window[0]))


def occupancy(
    start: Nanoseconds, end: Nanoseconds, percent: Float, window: tuple[int, int]
) -> float | None:
    """Mean of the kernels' estimated occupancy by their time in the window, percent.

    Args:
        percent: `est. achieved occupancy %` of each, NaN for unknown.

    Returns:
        None where it is unknown of every kernel.
    """
    start, end, known = _inside(start, end, np.where(percent >= 0, percent, np.nan), window)
    time = end - start
    return float((known * time).sum() / time.sum()) if len(known) else None


def _inside(
    start: Nanoseconds, end: Nanoseconds, value: Float, window: tuple[int, int]
) -> tuple[Nanoseconds, Nanoseconds, Float]:
    """Kernels of known value that run in the window, cut to it."""
    start, end = np.maximum(start, window[0]), np.minimum(end, window[1])
    chosen = (start < end) & ~np.isnan(value)
    return start[chosen], end[chosen], value[chosen]
