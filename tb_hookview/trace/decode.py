"""JSON bytes to typed records.

Fast path: msgspec decodes straight into structs and skips what no column asks for. A file with a
value of an unexpected type somewhere takes the tolerant path: decoded without types, each event is
brought into shape by itself, and what had to be dropped is counted.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from tb_hookview.errors import TraceError
from tb_hookview.markers import MANIFEST_KEY
from tb_hookview.trace.arguments import ARGUMENTS

INT64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]

KEY_FIELDS: dict[str, str] = {
    key: f"{argument.column}_{number}"
    for argument in ARGUMENTS
    for number, key in enumerate(argument.keys)
}
"""Spelling of an argument in the file -> field of `Event.args`."""

_Args = msgspec.defstruct(
    "_Args",
    [
        *(
            (KEY_FIELDS[key], INT64, argument.missing)
            for argument in ARGUMENTS
            for key in argument.keys
        ),
        ("label", Any, None),
    ],
    rename={**{field: key for key, field in KEY_FIELDS.items()}, "label": "name"},
    frozen=True,
    gc=False,
)
# The arguments that any column asks for; `label` is the `name` of a metadata event.


class Event(msgspec.Struct, gc=False):
    """One event as it stands in the file; times in microseconds, NaN where there is none."""

    ph: str = ""
    cat: str = ""
    name: str = ""
    pid: int | str = ""
    tid: int | str = ""
    ts: float = float("nan")
    dur: float = 0.0
    id: int | str = ""
    args: _Args = _Args()  # type: ignore[valid-type]


class Root(msgspec.Struct):
    """The file's root object; keys the reader has no use for are skipped."""

    traceEvents: list[Event]  # noqa: N815  # the format's own spelling
    deviceProperties: Any = None  # noqa: N815
    distributedInfo: Any = None  # noqa: N815
    cuda_runtime_version: Any = None
    hip_runtime_version: Any = None
    roctracer_version: Any = None
    manifest: Any = msgspec.field(default=None, name=MANIFEST_KEY)
    loose: int = msgspec.field(default=0, name="//loose")
    """Events that lost a value, or all of themselves, because it had an unexpected type."""


class _TimeText(msgspec.Struct, gc=False):
    ts: msgspec.Raw = msgspec.Raw(b"0")
    dur: msgspec.Raw = msgspec.Raw(b"0")


class _TimeTextRoot(msgspec.Struct):
    traceEvents: list[_TimeText]  # noqa: N815


_root_decoder = msgspec.json.Decoder(Root, strict=False)
_list_decoder = msgspec.json.Decoder(list[Event], strict=False)


def decode(path: str, data: bytes) -> tuple[Root, str]:
    """Decode a trace.

    Args:
        path: for messages.
        data: the inflated file.

    Returns:
        The root and the format, "chrome-object" or "chrome-list" (a bare list of events).

    Raises:
        TraceError: not JSON, damaged JSON, or JSON that is no chrome trace.
    """
    first = data[:64].lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if first not in (b"{", b"["):
        raise TraceError(path, "not JSON, so no trace", "name a file that torch.profiler wrote")
    is_list = first == b"["
    try:
        root = _decode_typed(data, is_list=is_list)
    except msgspec.ValidationError:
        root = _decode_loosely(path, data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _damaged(path, error) from error
    if (root.traceEvents or is_list) and not any(event.ph for event in root.traceEvents):
        raise _no_trace(path, "its events have no phase (`ph`)")
    return root, "chrome-list" if is_list else "chrome-object"


def decode_time_texts(data: bytes, *, is_list: bool) -> tuple[list[bytes], list[bytes]]:
    """Return `ts` and `dur` of every event as the text they have in the file."""
    kind: Any = list[_TimeText] if is_list else _TimeTextRoot
    decoded = msgspec.json.decode(data, type=kind)
    events: list[_TimeText] = decoded if is_list else decoded.traceEvents
    return [bytes(event.ts) for event in events], [bytes(event.dur) for event in events]


def _decode_typed(data: bytes, *, is_list: bool) -> Root:
    return Root(_list_decoder.decode(data)) if is_list else _root_decoder.decode(data)


def _decode_loosely(path: str, data: bytes) -> Root:
    try:
        content = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _damaged(path, error) from error
    head = content if isinstance(content, dict) else {}
    raw_events = content if isinstance(content, list) else head.get("traceEvents")
    if not isinstance(raw_events, list):
        raise _no_trace(path, "it has no list `traceEvents`")
    shaped = [_shape(raw) for raw in raw_events]
    fields = {
        field.name: head.get(field.encode_name)
        for field in msgspec.structs.fields(Root)
        if field.name not in ("traceEvents", "loose")
    }
    return Root(
        traceEvents=[event for event, _ in shaped if event is not None],
        loose=sum(1 for _, whole in shaped if not whole),
        **fields,
    )


def _shape(raw: object) -> tuple[Event | None, bool]:
    """Bring one untyped event into shape; tell also whether all of it could be kept."""
    if not isinstance(raw, dict):
        return None, False
    try:
        return msgspec.convert(raw, Event, strict=False), True
    except msgspec.ValidationError:
        kept = {key: value for key, value in raw.items() if _fits(key, value)}
    if isinstance(raw.get("args"), dict):
        kept["args"] = {k: v for k, v in raw["args"].items() if _fits("args", {k: v})}
    try:
        return msgspec.convert(kept, Event, strict=False), False
    except msgspec.ValidationError:
        return None, False


def _fits(key: str, value: object) -> bool:
    try:
        msgspec.convert({key: value}, Event, strict=False)
    except msgspec.ValidationError:
        return False
    return True


def _damaged(path: str, error: Exception) -> TraceError:
    return TraceError(path, f"the JSON is damaged or cut off ({error})", "record the run again")


def _no_trace(path: str, why: str) -> TraceError:
    return TraceError(
        path, f"JSON, but no PyTorch trace: {why}", "name a file torch.profiler wrote"
    )
