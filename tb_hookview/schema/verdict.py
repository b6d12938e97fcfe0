"""What decides the length of a step, as types."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from tb_hookview.schema.units import Us

Bound = Literal["host", "device", "communication", "data", "even", "unknown"]
"""What decides the length of a step."""


class Verdict(Struct, frozen=True, kw_only=True):
    """What decides the length of a step: replays in which one resource alone takes time.

    A trace that marks no steps is one step. All figures are null where the replay is refused.
    """

    bound: Bound
    """The host and data loading take turns on one thread, as device and communication do where one
    needs the other. So `host_side_us` is compared with `device_side_us`. Where they are further
    apart than `margin_us`, the longer side decides, and of its two resources that without which the
    step is shortest; data loading or communication where both save about as much, as these can
    overlap. `unknown` where the replay is refused, the trace has no device events (unless the
    recorder noted that the model is on the CPU), or pauses that nothing explains are longer than
    each side."""
    sentence: str
    """The same in at most 25 words."""
    step_us: Us | None
    """A step as recorded, by the slower of host and device, as `step_us` of a what-if."""
    host_us: Us | None
    """A step with the host's own work alone: Python, operators, launches; syncs return at once."""
    device_us: Us | None
    """A step with the work of the devices alone but collectives; null without device events."""
    communication_us: Us | None
    """A step with collectives alone: their durations, which include waiting for other ranks, and
    the pauses before them. Null without device events or collectives of the host (gloo)."""
    data_us: Us | None
    """A step with the data loader's time on the host alone."""
    host_side_us: Us | None
    """A step with the host's own work and data loading."""
    device_side_us: Us | None
    """A step with device and communication; null where both are."""
    margin_us: Us | None
    """Difference of the two sides up to which they are even: 5% of the longer, at least the error
    of the replay with nothing changed."""
