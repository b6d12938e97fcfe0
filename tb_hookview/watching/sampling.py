"""What is timed in how many steps, so that it costs no more than a small share of a step."""

from __future__ import annotations

import math
from typing import NamedTuple

from tb_hookview.watching.clock import NOTHING, PHASES

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
