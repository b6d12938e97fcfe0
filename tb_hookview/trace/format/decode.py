"""JSON bytes to typed records.

Fast path: msgspec decodes into structs and skips what no column needs. Events with a value of an
unexpected type take the lenient path: each is decoded without types, what does not fit is dropped,
and the events that lost a value are counted.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

import msgspec

from tb_hookview.markers import COMPILED_KEY, MANIFEST_KEY
from tb_hookview.trace.format.arguments import (
    ARGUMENTS,
    COLLECTIVE,
    CUDA_SYNC,
    MEMORY,
    MOVED,
    Argument,
    Form,
)

INT64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]

KEY_FIELDS: dict[str, str] = {
    key: f"{argument.column}_{number}"
    for argument in ARGUMENTS
    for number, key in enumerate(argument.keys)
}
"""Spelling of an argument in the file -> field of `Event.args`."""

_TEXTS = {key for argument in ARGUMENTS if argument.form is Form.TEXT for key in argument.keys}


def _field(argument: Argument) -> tuple[Any, Any]:
    """Type and default of the field of an argument."""
    if argument.form is Form.WHOLE:
        return INT64, argument.missing
    return (Any, None) if argument.form is Form.MEASURED else (msgspec.Raw, msgspec.Raw(b""))


_Args = msgspec.defstruct(
    "_Args",
    [
        *((KEY_FIELDS[key], *_field(argument)) for argument in ARGUMENTS for key in argument.keys),
        ("label", Any, None),
    ],
    rename={**{field: key for key, field in KEY_FIELDS.items()}, "label": "name"},
    frozen=True,
    gc=False,
)
# The arguments that any column needs; `label` is the `name` of a metadata event.


class Event(msgspec.Struct, gc=False):
    """One event as it is in the file; times in microseconds, NaN for none."""

    ph: str = ""
    cat: str = ""
    name: str = ""
    pid: int | str = ""
    tid: int | str = ""
    ts: float = float("nan")
    dur: float = float("nan")
    id: int | str = ""
    args: _Args = _Args()  # type: ignore[valid-type]


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


_events = msgspec.json.Decoder(list[Event], strict=False)
_event = msgspec.json.Decoder(Event, strict=False)
_raws = msgspec.json.Decoder(list[msgspec.Raw])
_text = msgspec.json.Encoder().encode
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


def decode_events(text: bytes) -> tuple[list[Event], int]:
    """Decode a JSON array of events.

    Returns:
        The events, and how many lost a value (or all of themselves) to an unexpected type.

    Raises:
        msgspec.DecodeError: damaged JSON.
        msgspec.ValidationError: JSON, but no array.
    """
    try:
        return _events.decode(text), 0
    except msgspec.ValidationError:
        shaped = [_shaped(bytes(raw)) for raw in _raws.decode(text)]
    found = [event for event, _ in shaped if event is not None]
    return found, sum(not whole for _, whole in shaped)


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


def _shaped(text: bytes) -> tuple[Event | None, bool]:
    """Decode one event leniently; also return whether none of it was dropped."""
    try:
        return _event.decode(text), True
    except (msgspec.DecodeError, UnicodeDecodeError):
        raw = _untyped(text)
    if not isinstance(raw, dict):
        return None, False
    fitting = {key: value for key, value in raw.items() if _fits(key, value)}
    if isinstance(raw.get("args"), dict):
        args = {k: msgspec.Raw(_text(v)) if k in _TEXTS else v for k, v in raw["args"].items()}
        fitting["args"] = {key: value for key, value in args.items() if _fits("args", {key: value})}
    try:
        return msgspec.convert(fitting, Event, strict=False), False
    except msgspec.ValidationError:
        return None, False


def _untyped(text: bytes) -> Any:
    """A value of any type; None where it cannot be decoded."""
    try:
        return json.loads(text.decode("utf-8", "replace"))  # takes numbers of any size
    except (ValueError, RecursionError):
        return None


def _fits(key: str, value: object) -> bool:
    try:
        msgspec.convert({key: value}, Event, strict=False)
    except msgspec.ValidationError:
        return False
    return True
