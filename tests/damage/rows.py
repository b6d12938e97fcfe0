"""Texts of traces with their events, as they are, in another order, or with some of them alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

Rows = list[msgspec.Raw]


class _Outline(msgspec.Struct):
    ph: str = ""
    ts: float = 0.0
    dur: float = 0.0


_rows, _outline = msgspec.json.Decoder(Rows), msgspec.json.Decoder(_Outline, strict=False)


def changed(text: bytes, change: Callable[[Rows], Sequence[msgspec.Raw]]) -> bytes:
    """The text of a trace with what `change` makes of its events, and the rest as it is."""
    root = msgspec.json.decode(text, type=dict[str, msgspec.Raw] | Rows)
    if isinstance(root, list):
        return msgspec.json.encode(change(root))
    return msgspec.json.encode({**root, "traceEvents": change(_rows.decode(root["traceEvents"]))})


def reordered(text: bytes, reorder: Callable[[Rows], None]) -> bytes:
    """The text of a trace with its events in another order.

    Names of threads and processes follow them, in the order in which they were.
    """

    def change(rows: Rows) -> Rows:
        named = [_outline.decode(row).ph == "M" for row in rows]
        events = [row for row, is_name in zip(rows, named, strict=True) if not is_name]
        reorder(events)
        return events + [row for row, is_name in zip(rows, named, strict=True) if is_name]

    return changed(text, change)


def end_of(row: msgspec.Raw) -> float:
    """When an event ends, microseconds."""
    event = _outline.decode(row)
    return event.ts + event.dur


def thinned(text: bytes, most: int) -> bytes:
    """The text of a trace with every n-th of its events, so that there are at most so many."""
    return changed(text, lambda rows: rows[:: -(-len(rows) // most)])
