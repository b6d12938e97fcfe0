"""Idle time before the first event of a stream: it was launched, and something unseen ran first."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.consistency.fault import Fault
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays.joins import unique

_SHARE = 0.01
"""Of the trace's duration."""


def unseen_queue(analysis: Analysis) -> Iterator[Fault]:
    """Count the streams whose first event the trace does not show why it began so late.

    A queue runs in order: what was queued before the recording, or by another process, is not in
    the file, and the device is taken to have idled meanwhile.
    """
    gaps, events = analysis.gaps, analysis.device_events
    ended = np.flatnonzero((gaps.cause == Cause.UNKNOWN) & (gaps.device_event >= 0))
    event = gaps.device_event[ended]
    opens = analysis.timing.first_of_stream[event] & (events.launch[event] >= 0)
    opens &= gaps.start[ended] >= analysis.timing.launch_start[event]
    time = int(gaps.duration[ended[opens]].sum())
    first, last = analysis.bounds
    if time > _SHARE * (last - first):
        streams = len(unique(events.stream[event[opens]]))
        yield Fault("unseen-queue", streams, time=time, share=time / (last - first))
