"""Decoders of typed JSON, built by one thread at a time."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_building = Lock()


def decoder(
    kind: type[T], dec_hook: Callable[[type, Any], Any] | None = None, *, strict: bool = True
) -> msgspec.json.Decoder[T]:
    """Return a decoder of a type; `dec_hook` makes what JSON has no word for.

    Where it is not strict, texts of numbers pass for numbers.

    msgspec 0.22 describes a struct on its first use and lets another thread see the half of it,
    which ends the process. Once described, building a decoder is quick.
    """
    with _building:
        return msgspec.json.Decoder(kind, dec_hook=dec_hook, strict=strict)


def described(kind: type[T]) -> type[T]:
    """Return a type that any thread may now convert to."""
    decoder(kind)
    return kind
