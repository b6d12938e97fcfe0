"""Numbers as words for evidence and caveats."""

from __future__ import annotations


def format_us(us: float) -> str:
    """Write a duration given in microseconds with three digits, in the unit that fits."""
    if not us:
        return "0 us"
    for size, unit in ((1.0, "us"), (1e3, "ms")):
        if us < 999.5 * size:
            return f"{_three_digits(us / size)} {unit}"
    return f"{_three_digits(us / 1e6)} s"


def format_count(number: float, noun: str, plural: str = "") -> str:
    """Write a count, rounded to a whole number, with its noun."""
    whole = round(number)
    return f"{whole} {noun if whole == 1 else plural or noun + 's'}"


def _three_digits(value: float) -> str:
    if value >= 99.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"
