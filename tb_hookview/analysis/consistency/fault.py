"""One fault of a trace."""

from __future__ import annotations

from msgspec import Struct


class Fault(Struct, frozen=True):
    """Something that a trace of a correct recording does not have."""

    code: str
    """Name of the check; `report/tables/warnings.py` has the words for it."""
    count: int
    """Number of times it was seen, above 0."""
    time: int | None = None
    """The largest of them, nanoseconds; None where it is no time."""
    share: float | None = None
    """Share of all that it concerns; None where it does not grow with it."""
    names: tuple[str, ...] = ()
    """Kernels that it is about most."""


def counted(code: str, count: int) -> tuple[Fault, ...]:
    """The fault where there is any."""
    return (Fault(code, count),) if count else ()


def measured(code: str, excess: list[int]) -> tuple[Fault, ...]:
    """The fault with its largest time, where there is any; times in nanoseconds."""
    return (Fault(code, len(excess), time=max(excess)),) if excess else ()
