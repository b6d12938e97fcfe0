"""Columns of a trace in the cache."""

from __future__ import annotations

from typing import Any

import msgspec

from tb_hookview.cache import Source
from tb_hookview.loading.packing import pack, unpack
from tb_hookview.trace.columns.trace import Content, Trace
from tb_hookview.trace.source.file import TraceFile

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
    content = source.get(KIND)
    if content is None:
        return None
    try:
        return Trace(**_fields(unpack(content, Content)), file=file)
    except (msgspec.DecodeError, ValueError, IndexError):  # the first is a ValueError of another
        source.drop(KIND)
        return None


def _fields(content: Content) -> dict[str, Any]:
    """What a file holds by name, without the file: its name may not be text."""
    return {name: getattr(content, name) for name in Content.__struct_fields__}
