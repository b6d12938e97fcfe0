"""Numbers and names as text for a terminal."""

from __future__ import annotations

MISSING = "-"
"""Text for a number that the trace does not hold."""


def printable(text: str) -> str:
    """Return the text with everything a terminal might act upon written as an escape."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def duration(us: float | None) -> str:
    """Write a duration given in microseconds with three digits and its unit."""
    if us is None:
        return MISSING
    size = abs(us)
    if size == 0:
        return "0"
    if size < 999.5:
        return f"{_digits(us)} us"
    if size < 999_500:
        return f"{_digits(us / 1e3)} ms"
    return f"{_digits(us / 1e6)} s"


def change(us: float | None) -> str:
    """Write a difference of two durations, always with a sign."""
    if us is None:
        return MISSING
    return f"+{duration(us)}" if us > 0 else duration(us)


def share(part: float | None, whole: float | None) -> str:
    """Write a part of a whole in percent."""
    if part is None or not whole:
        return MISSING
    return f"{100 * part / whole:.1f} %"


def count(number: int | None) -> str:
    """Write a count."""
    return MISSING if number is None else f"{number:,}"


def plural(number: int, noun: str) -> str:
    """Write a count with its noun."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _digits(value: float) -> str:
    size = abs(value)
    if size >= 99.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if size >= 9.995 else f"{value:.2f}"
