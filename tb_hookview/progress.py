"""Callbacks that report how far a long computation is."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, float | None], None]
"""Called with the stage and the fraction of it done, None where it has no measure."""

Count = Callable[[int], None]
"""Called with the number of events read so far."""


def silent(_stage: str, _done: float | None) -> None:
    """Report to nobody."""


def uncounted(_events: int) -> None:
    """Report to nobody."""
