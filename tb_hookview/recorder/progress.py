"""Says that a recording is being written, and where it is, in one line each."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from tb_hookview.addresses.text import shown

Say = Callable[[str], None]

_PER_EVENT = 11e-6
"""Seconds that an event takes to be written: 5.6 s for 505,000 of them, on 2 cores."""
_LONG = 2.0
"""Seconds from which on a stop of the training is announced."""


def on_standard_error(text: str) -> None:
    """Write a line for the user; a closed stream is no reason to stop a training."""
    try:
        sys.stderr.write(f"tb_hookview: {text}\n")
    except (OSError, ValueError, AttributeError):
        return


def announce(say: Say, events: int) -> None:
    """Say that the training stops for a while, if it does for long."""
    seconds = events * _PER_EVENT
    if seconds >= _LONG:
        say(f"writing {events:,} events (about {seconds:.0f} s)")


def report(say: Say, file: Path | str, seconds: float) -> None:
    """Say what was written."""
    size = f"{_size(file.stat().st_size)}, " if isinstance(file, Path) else ""
    say(f"wrote {shown(file)} ({size}{seconds:.1f} s)")


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count / 1e3:.0f} kB"
