"""Threads of a trace: those of the host, and those of devices."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tb_hookview.arrays.types import Bool
from tb_hookview.trace import EventCategory, Trace
from tb_hookview.trace.format.vocabulary import DEVICE_CATEGORIES


def device_threads(trace: Trace) -> Bool:
    """Whether each thread is a device's: a stream, or another of its process.

    Some vendors mirror calls of the host next to the streams; these are not further calls. A
    process with operators or annotations is the host's.
    """
    streams = _holding(trace, DEVICE_CATEGORIES)
    named = _holding(trace, (EventCategory.OPERATOR, EventCategory.ANNOTATION))
    rows = list(zip(trace.threads, streams.tolist(), named.tolist(), strict=True))
    devices = {thread.pid for thread, is_stream, _ in rows if is_stream}
    devices -= {thread.pid for thread, _, is_named in rows if is_named}
    return np.asarray(streams | np.array([t.pid in devices for t in trace.threads], bool))


def _holding(trace: Trace, kinds: Iterable[EventCategory]) -> Bool:
    """Whether each thread has events of these categories."""
    wanted = np.zeros(len(EventCategory), bool)
    wanted[[int(kind) for kind in kinds]] = True
    thread = trace.events.thread[wanted[trace.events.kind]]
    return np.bincount(thread, minlength=len(trace.threads)) > 0
