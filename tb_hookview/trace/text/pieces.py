"""Cuts a trace's text into pieces that decode by themselves, one at a time.

The text is cut between two events, at a `},{` that is followed by the key of an event:

    {"schemaVersion": 1, "traceEvents": [  {..},{..}  ,  {..},{..}  ,  {..} ], "traceName": ".."}
    |------------ opening -------------|  |segment-|   |segment-|   |-------- rest ----------|

Opening and rest together are a small document of the same form as the whole. That a cut lies
between events, and not inside a string or a nested list, is shown by every segment being valid
JSON. One that is not goes on in the next if it is cut off, else to `repair`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import compress
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
from msgspec import Struct, field

from tb_hookview.errors import TraceError
from tb_hookview.progress import Progress, silent
from tb_hookview.trace.format.events import (
    Event,
    Head,
    decode_details,
    decode_head,
    decode_time_texts,
    events_decoder,
)
from tb_hookview.trace.format.vocabulary import EVERYTHING as EVERY_COLUMN
from tb_hookview.trace.format.vocabulary import Wanted
from tb_hookview.trace.source.file import TraceFile
from tb_hookview.trace.source.inflate import (
    BLOCK,
    DEFAULT,
    Damages,
    Limits,
    blocks,
    limits_from_environment,
)
from tb_hookview.trace.source.perfetto import is_perfetto, perfetto_error
from tb_hookview.trace.text.repair import DAMAGE, Repair, repair_head

_BETWEEN = re.compile(rb'\}\s*,\s*(?=\{\s*"(?:ph|cat|name|pid|tid|ts|dur|id|args|s|bp)"\s*:)')
"""Text between two events; the same may stand inside arguments."""
_POINT = re.compile(rb'"ts"\s*:\s*"?\d+\.\d')
_FRACTION = re.compile(rb'"ts"\s*:\s*"?\d+\.\d*[1-9]')
_BEFORE_JSON = b"\xef\xbb\xbf \t\r\n"
_WIDE = re.compile(rb"\xff\xfe|\xfe\xff|[{\[]\0|\0+[{\[]")
_OPENING = re.compile(rb'"traceEvents"\s*:\s*\[')
_LONGEST_OPENING = 64
_SEARCHED_FIRST = 1 << 14
_LARGEST_UNCUT = 4 * BLOCK
"""Bytes without a cut, after which any text between two objects is one."""
_BETWEEN_OBJECTS = re.compile(rb"\}\s*,\s*(?=\{)")
_CUT = "Input data was truncated"
"""What msgspec says of a text that is valid as far as it goes."""

_Decoded = TypeVar("_Decoded")
_raw = msgspec.json.Decoder(list[msgspec.Raw])


class Piece(Struct, frozen=True, dict=True):
    """Some events of a trace, in file order."""

    events: list[Event]
    loose: int
    """Events that lost a value, or all of themselves, to an unexpected type."""
    text: bytes
    """The JSON array they were decoded from."""
    damages: Damages = field(default_factory=Damages)
    """Repairs, with events counted from the first of this piece."""

    @cached_property
    def has_fractions(self) -> bool:
        """Whether any start is more than whole microseconds in the text.

        Whole ones may be written with a point, which the first 64 KiB show.
        """
        return bool(_POINT.search(self.text, 0, 1 << 16) and _FRACTION.search(self.text))

    def time_texts(self, chosen: list[Event]) -> tuple[list[bytes], list[bytes]] | None:
        """Return `ts` and `dur` of some events as texts; None where any event was dropped."""
        if self._time_texts is None:
            return None
        starts, durations = self._time_texts
        identities = set(map(id, chosen))
        wanted = [id(event) in identities for event in self.events]
        return list(compress(starts, wanted)), list(compress(durations, wanted))

    @cached_property
    def _time_texts(self) -> tuple[list[bytes], list[bytes]] | None:
        """`ts` and `dur` of all events; None where any was dropped."""
        try:
            texts = decode_time_texts(self.text)
        except msgspec.ValidationError:
            return None
        return texts if len(texts[0]) == len(self.events) else None

    def details(self, chosen: list[Event]) -> list[Any]:
        """Return rare arguments (see `decode_details`) of some of the events.

        Empty where any event of the piece was dropped, or a chosen one has arguments that are not
        an object.
        """
        texts = _raw.decode(self.text)
        if len(texts) != len(self.events):
            return []
        identities = set(map(id, chosen))
        wanted = [id(event) in identities for event in self.events]
        try:
            return decode_details(b"[%b]" % b",".join(compress(texts, wanted)))
        except msgspec.ValidationError:
            return []


class TraceRoot(Struct, frozen=True):
    """Contents of a trace file other than its events."""

    format: str
    """ "chrome-object" or "chrome-list"."""
    head: Head | None
    """None for a bare list."""
    damages: Damages = field(default_factory=Damages)
    """Repairs outside of the events."""


class Share(NamedTuple):
    """The blocks of a file that are decoded; the others are only cut."""

    first: int = 0
    end: int | None = None
    """The block after the last; None for all up to the root."""


EVERYTHING = Share()


def cut(
    file: TraceFile,
    progress: Progress = silent,
    size: int = BLOCK,
    share: Share = EVERYTHING,
    limits: Limits = DEFAULT,
    wanted: Wanted = EVERY_COLUMN,
) -> Iterator[Piece | TraceRoot]:
    """Yield the events of a share piece by piece, and the root at the end.

    Raises:
        TraceError: the file cannot be read, is no trace, or is larger than `limits` allow.
    """
    count = 0
    for part in _Reading(file, progress, size, events_decoder(wanted), limits).parts(share):
        piece = part if isinstance(part, TraceRoot) else Piece(*part[1], part[0], part[2])
        count += 0 if isinstance(piece, TraceRoot) else len(piece.events)
        limits.events.check(file.address, count)
        del part
        yield piece
        del piece  # before the next is decoded, which then takes its memory


def texts(file: TraceFile) -> Iterator[bytes]:
    """Yield the events of a file as JSON arrays, in the order of `cut`.

    Raises:
        TraceError: as `cut`.
    """
    limits = limits_from_environment()
    for part in _Reading(file, silent, BLOCK, _raw.decode, limits).parts():
        if not isinstance(part, TraceRoot):
            yield part[0]


class _Reading(Generic[_Decoded]):
    """One pass over a file.

    Args:
        file: the file.
        progress: called with how far it is read.
        size: inflated bytes read at a time.
        decode: what to make of the text of some events; raises one of `DAMAGE`.
        limits: how much may be read.
    """

    def __init__(
        self,
        file: TraceFile,
        progress: Progress,
        size: int,
        decode: Callable[[bytes], _Decoded],
        limits: Limits = DEFAULT,
    ) -> None:
        self._damages = Damages()
        self._address, self._limits = file.address, limits
        self._decode = decode
        self._tail: bytes | None = None
        self._tail_begin = 0

        def advanced(done: float) -> None:
            progress("decoding", done)

        self._stream = blocks(file, size, advanced, self._damages, limits)

    def parts(
        self, share: Share = EVERYTHING
    ) -> Iterator[tuple[bytes, _Decoded, Damages] | TraceRoot]:
        """Yield events as text and decoded, with what was repaired of them; the root last."""
        begin, opening, rest = _opening(self._address, self._stream, self._limits)
        begin += len(opening)
        for number, block in enumerate(self._stream):
            if number == share.end:
                return
            place = _last_cut(block) if self._tail is None else None
            if place is None and self._tail is None and len(rest) > _LARGEST_UNCUT:
                rest, block = b"", rest + block
                place = _last_cut(block, _BETWEEN_OBJECTS)
            if place is None:
                rest += block
                self._limits.event_bytes.check(self._address, len(rest))
                continue
            after = begin + len(rest) + place.end()
            if number >= share.first:
                text = b"".join((b"[", rest, memoryview(block)[: place.start() + 1], b"]"))
                part = self._part(text, begin)
                if part is None:  # the cut is inside of an event
                    rest += block
                    continue
                yield part
            begin, rest = after, block[place.end() if self._tail is None else place.start() + 1 :]
        yield from self._end(opening, rest, begin)

    def _part(self, array: bytes, begin: int) -> tuple[bytes, _Decoded, Damages] | None:
        """Decode a text; None where it ends inside of an event."""
        try:
            return array, self._decode(array), Damages()
        except DAMAGE as error:
            if str(error) == _CUT and len(array) <= _LARGEST_UNCUT:
                return None
        return self._repaired(array[1:-1], begin)

    def _repaired(
        self, text: bytes, begin: int, *, last: bool = False
    ) -> tuple[bytes, _Decoded, Damages]:
        damages = Damages()
        repair = Repair(text, begin, damages, last=last)
        self._tail, self._tail_begin = repair.tail, repair.tail_begin
        array = b"[%b]" % b",".join(repair.events)
        return array, self._decode(array), damages

    def _end(
        self, opening: bytes, rest: bytes, begin: int
    ) -> Iterator[tuple[bytes, _Decoded, Damages] | TraceRoot]:
        if self._tail is None:
            try:
                text, root = _document(opening + rest)
                decoded = self._decode(text)
            except msgspec.ValidationError as error:
                raise _no_list(self._address) from error
            except DAMAGE:
                yield self._repaired(rest, begin, last=True)
            else:
                yield text, decoded, Damages()
                yield TraceRoot(root.format, root.head, self._damages)
                return
        else:
            self._tail += rest
        yield self._repaired_root(opening)

    def _repaired_root(self, opening: bytes) -> TraceRoot:
        tail, begin = self._tail, self._tail_begin
        if opening.startswith(b"["):
            if tail and tail[1:].strip():
                self._damages.note("text-behind", begin + 1)
            return TraceRoot("chrome-list", None, self._damages)
        head = repair_head(opening, tail, begin, self._damages)
        if len(head.traceEvents) > len(b"[]"):  # another list than the one that was cut
            reason = "it has two lists `traceEvents`, and the first is not that of the events"
            raise TraceError(self._address, reason, "rename the first")
        return TraceRoot("chrome-object", head, self._damages)


def _opening(path: str, stream: Iterator[bytes], limits: Limits) -> tuple[int, bytes, bytes]:
    """Read up to the first event.

    Returns:
        Offset of the text's first byte, the text before the first event, what was read after it.
    """
    text, begin, searched = b"", 0, 0
    for block in stream:
        grown = text + block
        text = grown.lstrip(_BEFORE_JSON) if not text else grown
        begin += len(grown) - len(text)
        if not text:
            continue
        if _WIDE.match(text):
            raise TraceError(path, "the text is UTF-16 or UTF-32", "save it as UTF-8")
        if not text.startswith((b"{", b"[")):
            if is_perfetto(grown):
                raise perfetto_error(path)
            raise TraceError(path, "not JSON", "name a file that torch.profiler wrote")
        if text.startswith(b"["):
            return begin, text[:1], text[1:]
        if found := _OPENING.search(text, searched):
            return begin, text[: found.end()], text[found.end() :]
        searched = max(0, len(text) - _LONGEST_OPENING)
        limits.event_bytes.check(path, len(text))
    raise _no_trace(path, text)


def _no_trace(path: str, text: bytes) -> TraceError:
    if not text:
        return TraceError(path, "the file is empty", "record the run again")
    try:
        decode_head(text)
    except msgspec.ValidationError:
        pass
    except DAMAGE as error:
        reason = f"the JSON is damaged or cut off ({error})"
        return TraceError(path, reason, "record the run again")
    return _no_list(path)


def _no_list(path: str) -> TraceError:
    reason = "JSON, but not a PyTorch trace: it has no list `traceEvents`"
    return TraceError(path, reason, "name a file that torch.profiler wrote")


def _last_cut(block: bytes, between: re.Pattern[bytes] = _BETWEEN) -> re.Match[bytes] | None:
    for begin in (max(0, len(block) - _SEARCHED_FIRST), 0):
        places = list(between.finditer(block, begin))
        if places:
            return places[-1]
    return None


def _document(text: bytes) -> tuple[bytes, TraceRoot]:
    """Return the events of a text as a JSON array, and its root."""
    if text.startswith(b"["):
        return text, TraceRoot("chrome-list", None)
    head = decode_head(text)
    return bytes(head.traceEvents), TraceRoot("chrome-object", head)
