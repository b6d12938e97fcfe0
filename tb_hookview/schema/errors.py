"""The answer to a question that has none."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

ErrorKind = Literal["usage", "not_found", "trace", "internal", "unwanted"]


class ErrorDetail(Struct, frozen=True):
    """Reason for the lack of an answer."""

    kind: ErrorKind
    message: str
    """One line for a person."""


class ErrorAnswer(Struct, frozen=True):
    """The body of every answer with an error's status."""

    error: ErrorDetail
