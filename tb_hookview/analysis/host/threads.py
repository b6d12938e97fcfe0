"""Which threads of a trace are the host's, and which a device's."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tb_hookview.arrays.types import Bool
from tb_hookview.trace import EventCategory, Trace
from tb_hookview.trace.format.vocabulary import DEVICE_WORK


def device_threads(trace: Trace) -> Bool:
    """Which threads of the trace are a device's: its streams, and what else its process holds.

    Some vendors mirror calls of the host beside the streams; they are not calls once more. The
    process of a host is told by its operators and annotations.
    """
    working = _holding(trace, DEVICE_WORK)
    speaking = _holding(trace, (EventCategory.OPERATOR, EventCategory.ANNOTATION))
    places = list(zip(trace.threads, working.tolist(), speaking.tolist(), strict=True))
    devices = {place.pid for place, works, _ in places if works}
    devices -= {place.pid for place, _, speaks in places if speaks}
    return np.asarray(working | np.array([place.pid in devices for place in trace.threads], bool))


def _holding(trace: Trace, kinds: Iterable[EventCategory]) -> Bool:
    """Which threads hold events of these kinds."""
    wanted = np.zeros(len(EventCategory), bool)
    wanted[[int(kind) for kind in kinds]] = True
    thread = trace.events.thread[wanted[trace.events.kind]]
    return np.bincount(thread, minlength=len(trace.threads)) > 0
