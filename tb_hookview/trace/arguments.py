"""The one table of `args` keys that become columns: to read another argument, add a line here."""

from __future__ import annotations

from typing import NamedTuple

from tb_hookview.trace.vocabulary import Kind

_DEVICE = frozenset({Kind.KERNEL, Kind.COPY, Kind.SET})
_KERNEL = frozenset({Kind.KERNEL})
_OPERATOR = frozenset({Kind.OPERATOR, Kind.ANNOTATION})


class Argument(NamedTuple):
    """One column made of an argument.

    Attributes:
        column: attribute of `Events`; int64, or float64 where `measured`.
        keys: spellings in the file, newest first; the first present one counts.
        kinds: kinds of event that carry it; other rows hold `missing`.
        missing: value of rows without it; NaN where `measured`.
        measured: a number that need not be whole, and is not always a number in the file.
    """

    column: str
    keys: tuple[str, ...]
    kinds: frozenset[Kind]
    missing: int = -1
    measured: bool = False


ARGUMENTS: tuple[Argument, ...] = (
    Argument("correlation", ("correlation",), frozenset({Kind.RUNTIME}) | _DEVICE),
    Argument("sequence", ("Sequence number",), _OPERATOR),
    Argument("forward_thread", ("Fwd thread id",), _OPERATOR, missing=0),
    Argument("external", ("External id", "external id"), frozenset({Kind.RUNTIME}) | _OPERATOR),
    Argument("device", ("device",), _DEVICE),
    Argument("blocks_per_sm", ("blocks per SM",), _KERNEL, measured=True),
    Argument("occupancy", ("est. achieved occupancy %",), _KERNEL, measured=True),
)
