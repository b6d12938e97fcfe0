"""JSON bytes to typed records.

msgspec decodes into structs and skips what no column needs; `events.py` decodes the events.
"""

from __future__ import annotations

from typing import Any

import msgspec

from tb_hookview.markers import COMPILED_KEY, MANIFEST_KEY
from tb_hookview.trace.format.arguments import (
    COLLECTIVE,
    CUDA_SYNC,
    MEMORY,
    MOVED,
)


class Head(msgspec.Struct):
    """The root object, its events left as text; keys without a use are skipped."""

    traceEvents: msgspec.Raw  # noqa: N815  # the format's own spelling
    deviceProperties: Any = None  # noqa: N815
    distributedInfo: Any = None  # noqa: N815
    cuda_runtime_version: Any = None
    hip_runtime_version: Any = None
    roctracer_version: Any = None
    manifest: Any = msgspec.field(default=None, name=MANIFEST_KEY)
    compiled: Any = msgspec.field(default=None, name=COMPILED_KEY)


NO_TIME = b"nan"
"""Text of a time that is not in the file."""


class _TimeText(msgspec.Struct, gc=False):
    ts: msgspec.Raw = msgspec.Raw(NO_TIME)
    dur: msgspec.Raw = msgspec.Raw(NO_TIME)


_DETAILS = tuple((MEMORY | COLLECTIVE | CUDA_SYNC | MOVED).items())
_Details = msgspec.defstruct(
    "_Details",
    [(column, Any, None) for column, _ in _DETAILS],
    rename=dict(_DETAILS),
    frozen=True,
    gc=False,
)


class _Detailed(msgspec.Struct, gc=False):
    args: _Details = _Details()  # type: ignore[valid-type]


_head = msgspec.json.Decoder(Head)
_time_texts = msgspec.json.Decoder(list[_TimeText])
_detailed = msgspec.json.Decoder(list[_Detailed])


def decode_head(text: bytes) -> Head:
    """Decode the root object of a trace.

    Raises:
        msgspec.DecodeError: damaged, or no object.
        msgspec.ValidationError: an object without `traceEvents`.
    """
    return _head.decode(text)


def decode_time_texts(text: bytes) -> tuple[list[bytes], list[bytes]]:
    """Return `ts` and `dur` of a JSON array's events, as text of the file.

    Raises:
        msgspec.DecodeError: not a JSON array of objects.
    """
    events = _time_texts.decode(text)
    return [bytes(event.ts) for event in events], [bytes(event.dur) for event in events]


def decode_details(text: bytes) -> list[Any]:
    """Return the rare arguments (`MEMORY`, ..., `MOVED`) of the events of a JSON array.

    Each has an attribute for each of their columns, None where the event has no such argument.

    Raises:
        msgspec.DecodeError: not a JSON array of objects whose arguments are objects.
    """
    return [event.args for event in _detailed.decode(text)]
