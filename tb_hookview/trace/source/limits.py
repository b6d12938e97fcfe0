"""How much of a file is read: bounds against bombs and absurd counts, each with its variable."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from tb_hookview.errors import TraceError, UsageError


@dataclass(frozen=True)
class Limit:
    """The most of something that is read of one file; the environment may set another."""

    variable: str
    default: int
    what: str
    """A phrase with a place for the number: "more than {} events"."""

    @property
    def most(self) -> int:
        """The bound that holds now.

        Raises:
            UsageError: the variable is set to what is no whole number above 0.
        """
        text = os.environ.get(self.variable, "")
        if not text:
            return self.default
        if not (text.isascii() and text.isdigit() and int(text[:19]) > 0 and len(text) < 19):
            message = f"{self.variable} is {text[:40]!r}: set it to a whole number above 0"
            raise UsageError(message)
        return int(text)

    def hold(self, path: Path, amount: float) -> None:
        """Refuse a file that has more.

        Raises:
            TraceError: `amount` is above the bound.
        """
        if amount > self.most:
            reason = self.what.format(f"{self.most:,}")
            raise TraceError(path, f"it has {reason}", f"set {self.variable} to allow more")


BYTES = Limit("HOOKVIEW_MAX_BYTES", 64 << 30, "more than {} bytes of JSON")
RATIO = Limit(
    "HOOKVIEW_MAX_RATIO", 400, "more than {} times as many bytes as the file it is packed in"
)
EVENTS = Limit("HOOKVIEW_MAX_EVENTS", 500_000_000, "more than {} events")
EVENT_BYTES = Limit(
    "HOOKVIEW_MAX_EVENT_BYTES", 1 << 26, "an event, or a part beside the events, of over {} bytes"
)

PACKED_FREELY = 1 << 30
"""Bytes up to which any ratio will do: a small file may be all alike, and does no harm."""
