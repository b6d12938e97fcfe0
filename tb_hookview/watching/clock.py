"""Marks of the step under way, as the training leaves them: what ran from when to when."""

from __future__ import annotations

import gc
import math
import threading
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any, NamedTuple

ROOT, BACKWARD, DATA, OPTIMIZER, COLLECTION = range(16, 21)
"""What a mark is of; smaller numbers are the calls of blocks."""
GRADIENT = 32
"""Plus the number of a block: its last gradient. The mark has one time, and 0 as the second."""
ON_HOST = frozenset((DATA, OPTIMIZER, COLLECTION))
"""Marks whose times are the host's in any case."""
NOTHING, PHASES, BLOCKS = range(3)
"""What is timed in a step besides its length, loading and garbage collections."""
NO_THREAD = 0
"""In the place of a thread's number: the clock is in use no more."""


class StepClock:
    """Collects the marks of a step: three integers each, in the order in which they ended.

    One flat list of integers, which is only appended to: it costs the training less than anything
    else does, and its garbage collector has no object more to look at. `step_rows` makes sense of
    it later, in another thread.
    """

    __slots__ = (
        "before_backward",
        "collecting_since",
        "marks",
        "note",
        "stamp",
        "stepping_since",
        "thread",
    )

    def __init__(self, stamp: Callable[[], int] = perf_counter_ns) -> None:
        """Begin with no mark.

        Args:
            stamp: gives the time of calls and gradients; later ones are larger.
        """
        self.marks: list[int] = []
        self.note = self.marks.extend
        self.stamp = stamp
        self.thread = threading.get_ident()
        self.before_backward: Callable[[Any], None] | None = None
        """Called with what a backward pass begins from, before it."""
        self.collecting_since = self.stepping_since = 0

    def on_collection(self, phase: str, _info: object) -> None:
        """Time a garbage collection; one of `gc.callbacks`."""
        if phase == "start":
            self.collecting_since = perf_counter_ns()
        elif self.collecting_since:
            self.note((COLLECTION, self.collecting_since, perf_counter_ns()))
            self.collecting_since = 0

    def watch_collections(self) -> None:
        """Begin to time garbage collections."""
        gc.callbacks.append(self.on_collection)

    def forget_collections(self) -> None:
        """Time no more garbage collections."""
        if self.on_collection in gc.callbacks:
            gc.callbacks.remove(self.on_collection)


# What is timed in how many steps, so that it costs no more than a small share of a step.

RUN = 8
"""Steps in a row in which more is timed: to begin and to end takes as long as three of them."""

SHARE, SHARE_WITHOUT_BLOCKS = 0.001, 0.00025
"""Of a step, that timing its blocks may cost, and its phases where not all steps have them."""

_SHORT_NS = 10_000_000
"""Steps in which forward, backward and optimizer are not always timed: it costs 0.2% of this."""
_PHASES_NS = 20_000
"""Of forward, backward and optimizer in one step, in caches that others use too."""
_BLOCK_NS = {"host": 10_000, "device": 20_000}
"""Of one block in one step, by clock: a call and a gradient, and its share of `RUN`'s beginning and
end. A device's events are estimated, not measured."""


class Sampling(NamedTuple):
    """In how many steps all is timed, and what is timed in the others."""

    every: int
    """All is timed in one of this many steps."""
    least: int
    """`NOTHING` or `PHASES`."""


def sampling_of(blocks: int, clock: str, step_ns: int) -> Sampling:
    """Return what the length of a step allows.

    Args:
        blocks: of the model.
        clock: "host" or "device".
        step_ns: a usual step; 0 for unknown.
    """
    if step_ns <= 0:
        return Sampling(1, PHASES)
    short = step_ns < _SHORT_NS
    cost = blocks * _BLOCK_NS[clock] + short * _PHASES_NS
    share = SHARE if blocks else SHARE_WITHOUT_BLOCKS
    return Sampling(max(1, math.ceil(cost / (share * step_ns))), NOTHING if short else PHASES)
