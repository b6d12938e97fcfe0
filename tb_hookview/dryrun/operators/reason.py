"""Why the host waits for the device."""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["read", "size", "check", "to_device", "to_host", "staging", "explicit", "inside"]
"""What the wait is for: a value, a number of elements, an error check, a copy to the device or to
the host, a copy by way of the driver's buffer, the program itself, a library."""


class Reason(NamedTuple):
    """One wait of an operator."""

    kind: Kind
    text: str
    nbytes: int | None = None
    """Bytes that are copied; None where nothing is."""
    certain: bool = True
    """False where the driver decides whether the host waits."""
