"""JSON bytes to typed events.

Events are decoded by their category: each known one has a type with what its rows need, and msgspec
skips the rest, which is a third of the work. A text with any event that fits none of these types
is decoded again to events of one type. Where one of them has a value of an unexpected type, each is
decoded without types, what does not fit is dropped, and the events that lost a value are counted. A
value that no row of its category needs is not looked at, and so lost by none.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Annotated, Any, Literal, Union

import msgspec

from tb_hookview.decoders import decoder
from tb_hookview.markers import COMPILED_KEY, MANIFEST_KEY
from tb_hookview.trace.format.vocabulary import (
    ARGUMENTS,
    CATEGORIES,
    COLLECTIVE,
    CUDA_SYNC,
    EVERYTHING,
    FORWARD_BACKWARD_FLOWS,
    INSTANT_CATEGORY,
    LAUNCH_FLOWS,
    MEMORY,
    MOVED,
    OLD_SPELLINGS,
    Argument,
    EventCategory,
    Form,
    Wanted,
)

# JSON bytes to typed records.
#
# msgspec decodes into structs and skips what no column needs; `events.py` decodes the events.


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


# Names of copies and sets, of either exporter of torch.
#
# Kineto says in a copy's name what it moves: `Memcpy HtoD (Pageable -> Device)`. The second
# exporter of torch 2.15 calls every copy `Memcpy` and has the same facts as arguments. The name
# that Kineto gives is the one home of these facts for all that is after the reader.


_COPY, _SET = "Memcpy", "Memset"
UNNAMED = (_COPY, _SET)
"""Names that do not say what is moved."""

_DIRECTIONS = {9: "HtoH"}
"""CUPTI's numbers of what that exporter has no word for."""
_STATIC = ("Device Static", "Managed Static")
_MEMORY = ("Unknown", "Pageable", "Pinned", "Device", "Array", "Managed", *_STATIC)
"""Kinds of memory by CUPTI's numbers, in Kineto's words."""
_WORDS = {word.lower().replace(" ", "_"): word for word in _MEMORY}


def move_name(name: str, copy_kind: object, source: object, target: object, memory: object) -> str:
    """The name of a copy or a set as Kineto writes it.

    An event that is neither, or lacks the arguments, keeps its name.

    Args:
        name: the name in the file.
        copy_kind, source, target, memory: the arguments of `MOVED`, None for those not there.
    """
    if name == _COPY and None not in (copy_kind, source, target):
        direction = copy_kind if isinstance(copy_kind, str) else _number(copy_kind, _DIRECTIONS)
        return f"{_COPY} {direction} ({_memory(source)} -> {_memory(target)})"
    return f"{_SET} ({_memory(memory)})" if name == _SET and memory is not None else name


def _memory(kind: object) -> str:
    if isinstance(kind, str):
        return _WORDS.get(kind, kind)
    return _number(kind, dict(enumerate(_MEMORY)))


def _number(kind: object, words: dict[int, str]) -> str:
    return words.get(kind, "Unknown") if isinstance(kind, int) else "Unknown"


INT64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]

KEY_FIELDS: dict[str, str] = {
    key: f"{argument.column}_{number}"
    for argument in ARGUMENTS
    for number, key in enumerate(argument.keys)
}
"""Spelling of an argument in the file -> field of `Event.args`."""

_TEXTS = {key for argument in ARGUMENTS if argument.form is Form.TEXT for key in argument.keys}


class Event(msgspec.Struct, gc=False):
    """One event as it is in the file; times in microseconds, NaN for none.

    Events of a known category have these attributes, too, if not this type: those that no row of
    such an event needs have the value for none.
    """

    ph: str = ""
    cat: str = ""
    name: str = ""
    pid: int | str = ""
    tid: int | str = ""
    ts: float = float("nan")
    dur: float = float("nan")
    id: int | str = ""
    args: Any = None
    """An attribute for each spelling of the arguments that are wanted, as in `KEY_FIELDS`.

    And `label`, the `name` of a metadata event."""


_Field = tuple[Any, ...]
"""Name and type, and default where an event may lack it."""
_PLACE: tuple[_Field, ...] = (("pid", int | str, ""), ("tid", int | str, ""))
_START: _Field = ("ts", float, float("nan"))
_ROW: tuple[_Field, ...] = (
    ("ph", Literal["X"]),
    ("name", str, ""),
    *_PLACE,
    _START,
    ("dur", float, float("nan")),
)
_INSTANT: _Field = ("ph", Literal["i"])
_ARROW: _Field = ("ph", Literal["s", "f"])
_END_OF_ARROW: tuple[_Field, ...] = (_ARROW, ("id", int | str, ""), *_PLACE, _START)

MemoryArguments = msgspec.defstruct(
    "MemoryArguments",
    [(field, INT64, -1) for field in MEMORY],
    rename=MEMORY,
    frozen=True,
    gc=False,
)
"""`args` of an event of torch's allocators; a value that is no number of 64 bits fits no type."""


def _arguments(arguments: Iterable[Argument], *, label: bool = False) -> Any:
    """A type with some arguments; `label` is the `name` of a metadata event."""
    spelled = ((key, argument) for argument in arguments for key in argument.keys)
    fields = {KEY_FIELDS[key]: (key, *_of(argument)) for key, argument in spelled}
    if label:
        fields["label"] = ("name", Any, None)
    return msgspec.defstruct(
        "_Args",
        [(field, kind, default) for field, (_, kind, default) in fields.items()],
        rename={field: key for field, (key, *_) in fields.items()},
        frozen=True,
        gc=False,
    )


def _of(argument: Argument) -> tuple[Any, Any]:
    """Type and default of the field of an argument."""
    if argument.form is Form.WHOLE:
        return INT64, argument.missing
    return (Any, None) if argument.form is Form.MEASURED else (msgspec.Raw, msgspec.Raw(b""))


def _types_by_category(wanted: Wanted) -> Iterator[Any]:
    """A type of events for each known category."""
    arguments = {
        kind: _arguments(a for a in wanted.arguments if kind in a.kinds) for kind in EventCategory
    }
    for category in (*CATEGORIES, *OLD_SPELLINGS):
        kind = arguments[CATEGORIES[category.lower()]]
        fields = (*_ROW, ("args", kind, kind())) if kind.__struct_fields__ else _ROW
        yield _known(category, fields)
    for category in FORWARD_BACKWARD_FLOWS:
        yield _known(category, _END_OF_ARROW)
    yield from LAUNCH_ARROWS
    arguments_of_memory = ("args", MemoryArguments, MemoryArguments())
    of_memory = (("name", str, ""), *_PLACE, _START, arguments_of_memory)
    yield _known(INSTANT_CATEGORY, (_INSTANT, *(of_memory if wanted.details else ())))


def _known(category: str, fields: Iterable[_Field]) -> Any:
    """The type of events of a category with some fields."""
    listed = list(fields)
    others = {name: getattr(_NONE, name) for name in Event.__struct_fields__}
    for name, *_ in listed:
        del others[name]
    namespace = others | {"cat": category}
    return msgspec.defstruct(
        "_Known", listed, tag_field="cat", tag=category, namespace=namespace, gc=False
    )


_NONE = Event()
LAUNCH_ARROWS = frozenset(_known(category, (_ARROW,)) for category in LAUNCH_FLOWS)
"""Types of events that are only counted: a third of the events of many files."""
_raws = msgspec.json.Decoder(list[msgspec.Raw])
_text = msgspec.json.Encoder().encode


class _EventDecoder:
    """Decodes JSON arrays of events, as far as they are wanted; safe to use from many threads."""

    def __init__(self, wanted: Wanted) -> None:
        arguments = _arguments(wanted.arguments, label=True)
        self._type: Any = msgspec.defstruct(
            "_Event", [("args", arguments, arguments())], bases=(Event,), gc=False
        )
        known: Any = Union[tuple(_types_by_category(wanted))]  # noqa: UP007  # of a tuple
        self._one: Any = decoder(self._type, strict=False)
        self._all = decoder(list[self._type], strict=False)  # type: ignore[name-defined]
        self._by_category = decoder(list[known], strict=False)

    def __call__(self, text: bytes) -> tuple[list[Event], int]:
        """Decode an array of events; see `events_decoder`."""
        with suppress(msgspec.ValidationError):
            return self._by_category.decode(text), 0
        with suppress(msgspec.ValidationError):
            return self._all.decode(text), 0
        shaped = [self._shaped(bytes(raw)) for raw in _raws.decode(text)]
        found = [event for event, _ in shaped if event is not None]
        return found, sum(not whole for _, whole in shaped)

    def _shaped(self, text: bytes) -> tuple[Event | None, bool]:
        """Decode one event leniently; also return whether none of it was dropped."""
        try:
            return self._one.decode(text), True
        except (msgspec.DecodeError, UnicodeDecodeError):
            raw = _untyped(text)
        if not isinstance(raw, dict):
            return None, False
        fitting = {key: value for key, value in raw.items() if self._fits(key, value)}
        if isinstance(raw.get("args"), dict):
            args = {k: msgspec.Raw(_text(v)) if k in _TEXTS else v for k, v in raw["args"].items()}
            fitting["args"] = {k: v for k, v in args.items() if self._fits("args", {k: v})}
        try:
            event: Event = msgspec.convert(fitting, self._type, strict=False)
        except msgspec.ValidationError:
            return None, False
        return event, False

    def _fits(self, key: str, value: object) -> bool:
        try:
            msgspec.convert({key: value}, self._type, strict=False)
        except msgspec.ValidationError:
            return False
        return True


def _untyped(text: bytes) -> Any:
    """A value of any type; None where it cannot be decoded."""
    try:
        return json.loads(text.decode("utf-8", "replace"))  # takes numbers of any size
    except (ValueError, RecursionError):
        return None


@lru_cache
def events_decoder(wanted: Wanted) -> Callable[[bytes], tuple[list[Event], int]]:
    """Return a decoder of JSON arrays of events.

    Returns:
        A function of the text, which returns the events, and how many lost a value (or all of
        themselves) to an unexpected type. It raises `msgspec.DecodeError` for damaged JSON, and of
        these `msgspec.ValidationError` for JSON that is no array.
    """
    return _EventDecoder(wanted)


def decode_events(text: bytes) -> tuple[list[Event], int]:
    """Decode a JSON array of events, of which everything is wanted; see `events_decoder`."""
    return events_decoder(EVERYTHING)(text)
