"""How much memory an analysis and what was made of it take."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

OURS = "tb_hookview"
LONG = 256
"""Elements from which a sequence's size is remembered."""


class Held:
    """Counts the arrays and texts that some objects hold, each once; in bytes.

    Arrays, texts, sequences, dicts and objects of this package's own classes are looked into. What
    was counted before is kept in mind, so that counting again costs little. Safe as long as nobody
    else counts with the same instance.
    """

    def __init__(self) -> None:
        self._texts: dict[int, tuple[int, int]] = {}
        """Of long sequences of texts, which never change: how many, and their bytes."""

    def bytes(self, *objects: Any) -> int:
        """Return the bytes that the objects hold together."""
        total, seen, left = 0, set[int](), list(objects)
        while left:
            held = _owner(left.pop())
            if id(held) in seen:
                continue
            seen.add(id(held))
            if hasattr(held, "nbytes"):
                total += held.nbytes
            elif isinstance(held, str | bytes):
                total += sys.getsizeof(held)
            elif isinstance(held, tuple | list):
                total += sys.getsizeof(held)
                if len(held) >= LONG and isinstance(held[0], str | bytes):
                    total += self._of_texts(held)
                else:
                    left += list(held)
            else:
                left += _parts(held)
        return total

    def _of_texts(self, texts: Any) -> int:
        count, size = self._texts.get(id(texts), (0, 0))
        if count != len(texts):
            size = sum(map(sys.getsizeof, list(texts)))
            self._texts[id(texts)] = (len(texts), size)
        return size


def _owner(held: Any) -> Any:
    """What owns the memory that a view shows."""
    while True:
        if isinstance(held, memoryview):
            held = held.obj
        elif hasattr(held, "nbytes") and getattr(held, "base", None) is not None:
            held = held.base
        else:
            return held


def _parts(held: Any) -> Iterable[Any]:
    if isinstance(held, dict):
        return [*held.keys(), *held.values()]
    if type(held).__module__.partition(".")[0] == OURS:
        named = (*getattr(held, "__struct_fields__", ()), *getattr(held, "__slots__", ()))
        own = list(getattr(held, "__dict__", {}).values())
        return own + [getattr(held, name, None) for name in named]
    return ()
