"""No answer is larger than a page should take at once: long lists of rows are cut, and counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, takewhile
from typing import Any

import msgspec

from tb_hookview.errors import UsageError

MOST_BYTES = 1_000_000
"""Bytes of an answer's JSON before compression."""
ROOM_FOR_CUT = 2000
"""Bytes that are left for `cut` itself."""
DEEPEST = 3
"""How deep lists are looked for."""


def bounded(value: Any) -> bytes:
    """Return a value as JSON of at most `MOST_BYTES`.

    The largest lists of objects lose their last rows; all may take as much as is needed for the sum
    to fit. A field `cut` of the answer then holds how many rows each list has lost, by its path
    ("comparison.modules").

    Raises:
        UsageError: the answer is larger even without them.
    """
    body = msgspec.json.encode(value)
    return body if len(body) <= MOST_BYTES else _cut(msgspec.json.decode(body), len(body))


def fitting(rows: Iterable[Any], room: int = MOST_BYTES - ROOM_FOR_CUT) -> int:
    """How many of some rows, from the first on, take at most `room` bytes as JSON."""
    return sum(1 for _ in takewhile(lambda total: total <= room, accumulate(map(_bytes, rows))))


def _cut(answer: Any, size: int) -> bytes:
    lists = dict(_lists(answer, "", DEEPEST)) if isinstance(answer, dict) else {}
    sizes = {path: sum(map(_bytes, holder[key])) for path, (holder, key) in lists.items()}
    room = MOST_BYTES - ROOM_FOR_CUT - (size - sum(sizes.values()))
    most = level(sorted(sizes.values()), room)
    cut = {}
    for path, (holder, key) in lists.items():
        rows = holder[key]
        holder[key] = rows[: fitting(rows, most)]
        if len(holder[key]) < len(rows):
            cut[path] = len(rows) - len(holder[key])
    body = msgspec.json.encode({**answer, "cut": cut} if cut else answer)
    if len(body) > MOST_BYTES:
        raise UsageError(
            f"this answer would have {size / 1e6:.1f} MB, more than the {MOST_BYTES / 1e6:.0f} MB"
            " that an answer may have; ask for less, as fewer rows, lanes, paths or pixels"
        )
    return body


def _lists(value: dict[str, Any], prefix: str, depth: int) -> Iterator[tuple[str, Any]]:
    """Lists of objects, by path, each as what holds it and under which name."""
    for key, inner in value.items():
        if isinstance(inner, list) and inner and all(isinstance(row, dict) for row in inner):
            yield f"{prefix}{key}", (value, key)
        elif isinstance(inner, dict) and depth > 1:
            yield from _lists(inner, f"{prefix}{key}.", depth - 1)


def level(sizes: Sequence[int], room: int) -> int:
    """The most that each of some sizes, in ascending order, may have for their sum to fit."""
    for at, size in enumerate(sizes):
        share = room // (len(sizes) - at)
        if size > share:
            return max(share, 0)
        room -= size
    return max(sizes, default=0)


def _bytes(row: Any) -> int:
    return len(msgspec.json.encode(row)) + 1
