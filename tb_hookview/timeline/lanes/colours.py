"""Colours of the timeline, by phase and by cause of idle time."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.schema import Phase

Colours = NDArray[np.uint8]


class Colour(IntEnum):
    """Colours, in the order in which the overview lists them."""

    FORWARD = 0
    BACKWARD = 1
    OPTIMIZER = 2
    DATA = 3
    OTHER = 4
    WAIT = 5
    """The device was idle because the host waited for it, or the wait that made it so."""
    IDLE = 6
    """Idle with work queued, or a wait of the host that cost nothing."""
    COMMUNICATION = 7
    HOST = 8
    """The host was at work, whatever its phase; so all that follows, on the critical path."""
    DEVICE = 9
    LATENCY = 10
    UNEXPLAINED = 11
    IDLE_COPY = 12
    """Idle by that cause, as each of the following."""
    IDLE_ALLOCATOR = 13
    IDLE_KERNEL_LOADING = 14
    IDLE_LAUNCH = 15
    IDLE_PROFILER = 16
    IDLE_UNKNOWN = 17


NAMES = tuple(colour.name.lower() for colour in Colour)

_OF_PHASE = {
    Phase.BACKWARD: Colour.BACKWARD,
    Phase.OPTIMIZER: Colour.OPTIMIZER,
    Phase.DATA: Colour.DATA,
    Phase.FORWARD: Colour.FORWARD,
    Phase.OTHER: Colour.OTHER,
}
OF_PHASE: Colours = np.array([_OF_PHASE[phase] for phase in Phase], np.uint8)
"""Colour of each phase, by its number."""

_OF_CAUSE = {
    Cause.SYNC: Colour.WAIT,
    Cause.DATA_LOADING: Colour.DATA,
    Cause.COMMUNICATION: Colour.COMMUNICATION,
    Cause.COPY: Colour.IDLE_COPY,
    Cause.ALLOCATOR: Colour.IDLE_ALLOCATOR,
    Cause.KERNEL_LOADING: Colour.IDLE_KERNEL_LOADING,
    Cause.LAUNCH: Colour.IDLE_LAUNCH,
    Cause.PROFILER: Colour.IDLE_PROFILER,
    Cause.DEVICE: Colour.IDLE,
    Cause.UNKNOWN: Colour.IDLE_UNKNOWN,
}
OF_CAUSE: Colours = np.array([_OF_CAUSE[cause] for cause in Cause], np.uint8)
"""Colour of idle time, by the number of its cause."""
