"""The one table of `args` keys that become columns: to read another argument, add a line here."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from tb_hookview.trace.vocabulary import Kind

_DEVICE = frozenset({Kind.KERNEL, Kind.COPY, Kind.SET})
_OPERATOR = frozenset({Kind.OPERATOR, Kind.ANNOTATION})


class Form(Enum):
    """What an argument is, and so what its column holds."""

    WHOLE = 0
    """A whole number: int64."""
    MEASURED = 1
    """A number that need not be whole, and is not always one in the file: float64, NaN for none."""
    TEXT = 2
    """Any JSON, kept as text: int32, an index into `Trace.texts`, 0 for none."""


class Argument(NamedTuple):
    """One column made of an argument.

    Every spelling and every new set of kinds makes every file slower to read.

    Attributes:
        column: attribute of `Events`.
        keys: spellings in the file, newest first; the first present one counts.
        kinds: kinds of event that carry it; other rows hold what stands for none.
        missing: what stands for none among whole numbers.
        form: what it is.
    """

    column: str
    keys: tuple[str, ...]
    kinds: frozenset[Kind]
    missing: int = -1
    form: Form = Form.WHOLE


ARGUMENTS: tuple[Argument, ...] = (
    Argument("correlation", ("correlation",), frozenset({Kind.RUNTIME}) | _DEVICE),
    Argument("sequence", ("Sequence number",), _OPERATOR),
    Argument("forward_thread", ("Fwd thread id",), _OPERATOR, missing=0),
    Argument("external", ("External id", "external id"), frozenset({Kind.RUNTIME}) | _OPERATOR),
    Argument("device", ("device",), _DEVICE),
    Argument("blocks_per_sm", ("blocks per SM",), _DEVICE, form=Form.MEASURED),
    Argument("occupancy", ("est. achieved occupancy %",), _DEVICE, form=Form.MEASURED),
    Argument("shapes", ("Input Dims",), _OPERATOR, form=Form.TEXT),
)
