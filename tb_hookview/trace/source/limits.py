"""Limits of what is read of a file, each with its environment variable."""

from __future__ import annotations

import os

from msgspec import Struct

from tb_hookview.errors import TraceError, UsageError


class Limit(Struct, frozen=True):
    """The most of something that is read of one file."""

    variable: str
    """The environment variable that sets another."""
    most: int
    what: str
    """A phrase with a place for the number: "more than {} events"."""

    def check(self, address: str, amount: float) -> None:
        """Reject a file that has more.

        Raises:
            TraceError: `amount` is above the bound.
        """
        if amount > self.most:
            reason = self.what.format(f"{self.most:,}")
            raise TraceError(address, f"it has {reason}", f"set {self.variable} to allow more")


class Limits(Struct, frozen=True):
    """The bounds of one reading."""

    bytes: Limit = Limit("HOOKVIEW_MAX_BYTES", 64 << 30, "more than {} bytes of JSON")
    ratio: Limit = Limit(
        "HOOKVIEW_MAX_RATIO", 400, "more than {} times as many bytes as the file it is packed in"
    )
    events: Limit = Limit("HOOKVIEW_MAX_EVENTS", 500_000_000, "more than {} events")
    event_bytes: Limit = Limit(
        "HOOKVIEW_MAX_EVENT_BYTES",
        1 << 26,
        "an event, or a part next to the events, of over {} bytes",
    )


DEFAULT = Limits()

PACKED_FREELY = 1 << 30
"""Bytes up to which any ratio is allowed.

A small file may be all alike, and does no harm."""


def limits_from_environment() -> Limits:
    """Return the bounds that the environment sets, and the default for the others.

    Raises:
        UsageError: a variable is set to something other than a whole number above 0.
    """
    bounds = (getattr(DEFAULT, name) for name in Limits.__struct_fields__)
    return Limits(*map(_from_environment, bounds))


def _from_environment(limit: Limit) -> Limit:
    text = os.environ.get(limit.variable, "")
    if not text:
        return limit
    if not (text.isascii() and text.isdigit() and int(text[:19]) > 0 and len(text) < 19):
        message = f"{limit.variable} is {text[:40]!r}: set it to a whole number above 0"
        raise UsageError(message)
    return Limit(limit.variable, int(text), limit.what)
