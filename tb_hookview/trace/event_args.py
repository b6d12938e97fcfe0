"""The arguments of single events as they stand in the file: what no column holds of them.

The file is read once more, when the first event is asked for, and kept compressed in pieces, so
that any other event is found within one of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec
from isal import igzip

from tb_hookview.errors import TraceError
from tb_hookview.trace.decode import decode_events
from tb_hookview.trace.pieces import UncuttableError, texts, whole_text
from tb_hookview.trace.times import LATEST_NS

_LATEST_US = LATEST_NS / 1000


class _Outline(msgspec.Struct, gc=False):
    """What tells whether an event is a row of `Events`."""

    ph: str = ""
    ts: float = float("nan")


_outlines = msgspec.json.Decoder(list[_Outline], strict=False)
_raw = msgspec.json.Decoder(list[msgspec.Raw])


class EventArguments:
    """Arguments by row of `Events`. Safe to use from many threads.

    Args:
        path: the file that the rows were read from.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._first: list[int] = []
        self._pieces: list[bytes] = []
        self._lock = Lock()

    def of(self, row: int, name: str) -> dict[str, Any] | None:
        """Arguments of a row.

        Args:
            row: row of `Events`.
            name: the row's name, to tell whether the file is still the one that was read.

        Returns:
            The arguments; None where the file is gone or another.
        """
        with self._lock:
            if not self._pieces and not self._read():
                return None
        place = bisect_right(self._first, row) - 1
        text: bytes = igzip.decompress(self._pieces[place])  # type: ignore[no-untyped-call]
        rows = _complete(text)
        number = row - self._first[place]
        if number >= len(rows):
            return None
        event = msgspec.json.decode(_raw.decode(text)[rows[number]])
        arguments = event.get("args", {})
        if event.get("name", "") != name:
            return None
        return arguments if isinstance(arguments, dict) else {"args": arguments}

    def _read(self) -> bool:
        """Take the file in; False where it cannot be read any more."""
        try:
            try:
                self._take(texts(self._path))
            except UncuttableError:
                self._take([whole_text(self._path)])
        except (TraceError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            self._first, self._pieces = [], []
            return False
        return True

    def _take(self, pieces: Iterable[bytes]) -> None:
        self._first, self._pieces, count = [], [], 0
        for text in pieces:
            self._first.append(count)
            self._pieces.append(igzip.compress(text, 0))
            try:
                count += len(_complete(text))
            except msgspec.DecodeError as error:
                raise UncuttableError from error


def _complete(text: bytes) -> list[int]:
    """Which events of a JSON array are rows of `Events`, as the builder takes them."""
    try:
        events: Iterable[Any] = _outlines.decode(text)
    except msgspec.ValidationError:
        events = (next(iter(decode_events(b"[%b]" % bytes(e))[0]), None) for e in _raw.decode(text))
    return [
        number
        for number, event in enumerate(events)
        if event is not None and event.ph == "X" and abs(event.ts) < _LATEST_US
    ]
