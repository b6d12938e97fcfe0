"""Columns of a trace in the cache."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
import numpy as np

from tb_hookview.cache import Source
from tb_hookview.decoders import decoder
from tb_hookview.trace.columns.trace import Content, Trace
from tb_hookview.trace.source.file import TraceFile

_ALIGNED = 8
_NUMBERS = "biuf"

Packed = TypeVar("Packed")


class _Head(msgspec.Struct):
    """Numbers that stand for arrays in `content` are places in `arrays`."""

    arrays: list[tuple[str, int]]
    """Type and length of each, in the order in which they follow."""
    content: msgspec.Raw


def pack(content: Any) -> list[bytes | memoryview]:
    """Return what `unpack` reads; arrays have one axis."""
    arrays: list[np.ndarray[Any, Any]] = []

    def number(value: Any) -> int:
        if not isinstance(value, np.ndarray) or value.ndim != 1 or value.dtype.kind not in _NUMBERS:
            raise NotImplementedError(f"cannot be cached: {type(value).__name__}")
        arrays.append(np.ascontiguousarray(value))
        return len(arrays) - 1

    written = msgspec.json.encode(content, enc_hook=number)
    types = [(array.dtype.str, len(array)) for array in arrays]
    head = msgspec.json.encode(_Head(types, msgspec.Raw(written)))
    parts: list[bytes | memoryview] = [len(head).to_bytes(_ALIGNED, "little")]
    parts += [head, _pad(len(head))]
    for array in arrays:
        # An empty one cannot be seen as bytes.
        parts += [array.data.cast("B") if len(array) else b"", _pad(array.nbytes)]
    return parts


def unpack(content: memoryview, kind: type[Packed]) -> Packed:
    """Read a struct of some kind; nothing can write into its arrays.

    Raises:
        msgspec.DecodeError, ValueError, IndexError: it was packed otherwise.
    """
    length = int.from_bytes(content[:_ALIGNED], "little")
    head = decoder(_Head).decode(content[_ALIGNED : _ALIGNED + length])
    place = _ALIGNED + length + len(_pad(length))
    arrays = []
    for name, count in head.arrays:
        array = np.frombuffer(content, np.dtype(name), count, place)
        arrays.append(array)
        place += array.nbytes + len(_pad(array.nbytes))
    return decoder(kind, lambda _type, at: arrays[at]).decode(head.content)


def unpacked(source: Source, entry: str, kind: type[Packed]) -> Packed | None:
    """Return what a source's entry holds; None without, and for a broken one, which is dropped."""
    content = source.get(entry)
    if content is None:
        return None
    try:
        return unpack(content, kind)
    except (msgspec.DecodeError, ValueError, IndexError):  # the first is a ValueError of another
        source.drop(entry)
        return None


def _pad(length: int) -> bytes:
    return bytes(-length % _ALIGNED)


KIND = "columns"


def store(source: Source, trace: Trace) -> bool:
    """Store the columns of a trace that was read from a source.

    Returns:
        Whether they are stored.

    Raises:
        OSError: they cannot be written.
    """
    return source.put(KIND, pack(_fields(trace)))


def load(source: Source, file: TraceFile) -> Trace | None:
    """Return a source's cached columns as those of a file; None without.

    Nothing can write into the arrays.
    """
    content = unpacked(source, KIND, Content)
    return None if content is None else Trace(**_fields(content), file=file)


def _fields(content: Content) -> dict[str, Any]:
    """What a file holds by name, without the file: its name may not be text."""
    return {name: getattr(content, name) for name in Content.__struct_fields__}
