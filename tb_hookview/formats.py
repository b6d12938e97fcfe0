"""Numbers and names as text, the same wherever a person reads them."""

from __future__ import annotations

import math
import re

_LONGEST_NAME = 48
"""Characters of a kernel's name in a sentence."""
_MANGLED, _LENGTH = re.compile("_ZN?(?=[1-9])"), re.compile("[1-9][0-9]{0,3}")
_ANONYMOUS = "(anonymous namespace)"
_KINDS = {"matrix": "GEMM", "set": "memset"}
_MOST_DECIMALS = 12
MISSING = "-"
"""Text for a number that the trace does not hold."""


def format_us(us: float | None) -> str:
    """Write a duration given in microseconds with three digits, in the unit that fits."""
    if us is None:
        return MISSING
    if not us:
        return "0 us"
    for size, unit in ((1.0, "us"), (1e3, "ms")):
        if abs(us) < 999.5 * size:
            return f"{_three_digits(us / size)} {unit}"
    return f"{_three_digits(us / 1e6)} s"


def format_change(us: float | None) -> str:
    """Write a difference of two durations, always with a sign."""
    return f"+{format_us(us)}" if us is not None and us > 0 else format_us(us)


def format_share(part: float | None, whole: float | None) -> str:
    """Write a part of a whole in percent, as the page does: not all and not nothing are said so."""
    if part is None or not whole:
        return MISSING
    percent = 100 * part / whole
    if 0 < abs(percent) < 0.05:
        return "<0.1%"
    return ">99.9%" if 99.95 <= percent < 100 else f"{percent:.1f}%"


def format_number(number: float | None) -> str:
    """Write a count; a mean of counts has up to four digits."""
    if number is None:
        return MISSING
    return f"{number:,.0f}" if number == int(number) else f"{number:,.4g}"


def format_against(number: float, limit: float) -> str:
    """Write a number next to its limit: with three digits, or those that show which is larger."""
    if number == int(number):
        return f"{number:.0f}"
    decimals = max(0, 2 - math.floor(math.log10(abs(number))))
    while decimals < _MOST_DECIMALS:
        text = f"{number:.{decimals}f}"
        if (float(text) > limit) == (number > limit):
            return text
        decimals += 1
    return f"{number:.{_MOST_DECIMALS}g}"


def format_step(marked: bool) -> str:
    """Name what a mean is of: a trace that marks no steps is one step."""
    return "step" if marked else "trace"


def format_per(marked: bool) -> str:
    """Say what a time is of, by whether the trace marks steps."""
    return "per step" if marked else "in this trace"


def format_count(number: float, noun: str, plural: str = "") -> str:
    """Write a count, rounded to a whole number, with its noun."""
    whole = round(number)
    return f"{whole:,} {noun if whole == 1 else plural or noun + 's'}"


def format_bytes(size: float) -> str:
    """Write a size given in bytes, in the unit that fits, by powers of 1000."""
    for limit, unit in ((1e3, "B"), (1e6, "kB"), (1e9, "MB")):
        if abs(size) < 0.9995 * limit:
            return f"{_three_digits(size / limit * 1e3)} {unit}"
    return f"{_three_digits(size / 1e9)} GB"


def source_name(name: str) -> str:
    """Return a mangled name as its source has it, up to its arguments, which stay as they are.

    Source: Itanium C++ ABI, 5.1. Other names are returned unchanged.
    """
    found = _MANGLED.match(name)
    if found is None:
        return name
    parts, rest = _identifiers(name[found.end() :])
    if not parts:
        return name
    if not rest.startswith("I"):
        return f"{'::'.join(parts)}({rest.removeprefix('E')})"
    (inner, *_), rest = _identifiers(rest[1:], 1) if _LENGTH.match(rest, 1) else ([""], rest[1:])
    closed = inner and rest.startswith("E")
    return f"{'::'.join(parts)}<{inner}{'>' if closed else ''}{rest}"


def _identifiers(text: str, most: int = 99) -> tuple[list[str], str]:
    """Identifiers that a text begins with, each after its length, and what follows them."""
    found: list[str] = []
    while len(found) < most and (length := _LENGTH.match(text)):
        end = length.end() + int(length[0])
        if end > len(text):
            break
        found.append(text[length.end() : end])
        text = text[end:]
    return [_ANONYMOUS if part.startswith("_GLOBAL__N") else part for part in found], text


def format_kernel(name: str) -> str:
    """Write the name of a kernel in a few characters: without arguments, cut where it is long.

    CUTLASS runs its kernels inside of one of its own, whose argument is their name.
    """
    plain = source_name(name).removeprefix("void ").replace(f"{_ANONYMOUS}::", "")
    plain = re.sub(r"^std::enable_if<[^>]*>::type ", "", plain)
    plain = re.sub(r"^cutlass::Kernel2?<(\w+)>.*", r"\1", plain)
    short = re.split(r"(?<=[^ ])[<(]", plain, maxsplit=1)[0]
    return short if len(short) <= _LONGEST_NAME else f"{short[: _LONGEST_NAME - 3]}..."


def format_kind(kind: str) -> str:
    """Write a kind of device events as profilers call it; tables and SQL have the value."""
    return _KINDS.get(kind, kind)


def printable(text: str) -> str:
    """Return the text with everything a terminal might act upon written as an escape."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _three_digits(value: float) -> str:
    size = abs(value)
    if size >= 99.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if size >= 9.995 else f"{value:.2f}"
