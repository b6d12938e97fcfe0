"""Syncs that stand out: those that cost time, by the measure of the page."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.types import Bool

SHARE = 0.01
"""Least part of a mean step that a sync costs; `HIGHLIGHT_THRESHOLD` of the page."""


def costly_syncs(analysis: Analysis) -> Bool:
    """Whether each sync made the device idle for that part of a step.

    A host that waits for a device at work loses nothing. Where idle time is unknown, the time of
    the sync itself counts; the profiler's own sync never does.
    """
    syncs, idle = analysis.syncs, analysis.sync_idle
    lost = syncs.duration if idle is None else np.minimum(syncs.duration, idle)
    steps = analysis.steps.window[list(Selection(analysis, None).averaged.steps)]
    step = float((steps[:, 1] - steps[:, 0]).mean()) if len(steps) else 0.0
    return np.asarray(~syncs.by_profiler & (lost > 0) & (lost >= SHARE * step))
