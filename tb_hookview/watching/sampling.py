"""In how many steps blocks are timed, so that it costs no more than a small share of a step."""

from __future__ import annotations

import math

RUN = 8
"""Steps in a row in which blocks are timed: to begin and to end takes as long as three of them."""

BLOCKS_SHARE = 0.001
"""Of a step, that its blocks may cost."""

_COST_NS = {"host": 10_000, "device": 20_000}
"""Of one block in one step, by clock: a call and a gradient, in caches that others use too, and its
share of `RUN`'s beginning and end. A device's events are estimated, not measured."""


def every_how_many(blocks: int, clock: str, step_ns: int) -> int:
    """Return N for blocks to be timed in one of N steps.

    Args:
        blocks: of the model.
        clock: "host" or "device".
        step_ns: a usual step; 0 for unknown.
    """
    if step_ns <= 0:
        return 1
    return max(1, math.ceil(blocks * _COST_NS[clock] / (BLOCKS_SHARE * step_ns)))
