"""The one table of `args` keys that become columns: to read another argument, add a line here."""

from __future__ import annotations

from typing import NamedTuple

from tb_hookview.trace.vocabulary import Kind

_DEVICE = frozenset({Kind.KERNEL, Kind.COPY, Kind.SET})
_OPERATOR = frozenset({Kind.OPERATOR, Kind.ANNOTATION})


class Argument(NamedTuple):
    """One column made of an argument.

    Attributes:
        column: attribute of `Events`, int64.
        keys: spellings in the file, newest first; the first present one counts.
        kinds: kinds of event that carry it; other rows hold `missing`.
        missing: value of rows without it.
    """

    column: str
    keys: tuple[str, ...]
    kinds: frozenset[Kind]
    missing: int = -1


ARGUMENTS: tuple[Argument, ...] = (
    Argument("correlation", ("correlation",), frozenset({Kind.RUNTIME}) | _DEVICE),
    Argument("sequence", ("Sequence number",), _OPERATOR),
    Argument("forward_thread", ("Fwd thread id",), _OPERATOR, missing=0),
    Argument("external", ("External id", "external id"), frozenset({Kind.RUNTIME}) | _OPERATOR),
    Argument("device", ("device",), _DEVICE),
)
