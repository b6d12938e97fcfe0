"""Summaries of ranks in the cache: a trace that was read once is not read again for its run."""

from __future__ import annotations

import msgspec

from tb_hookview.cache import Source
from tb_hookview.loading.columns import pack, unpack
from tb_hookview.ranks.map.summary import Mapped

KIND = "rank"


def store(source: Source, mapped: Mapped) -> bool:
    """Store the summary of a source.

    Returns:
        Whether it is stored.

    Raises:
        OSError: it cannot be written.
    """
    return source.put(KIND, pack(_at(mapped, "")))


def load(source: Source, path: str) -> Mapped | None:
    """Return a source's cached summary as that of a trace at a path; None without."""
    content = source.get(KIND)
    if content is None:
        return None
    try:
        mapped = unpack(content, Mapped)
    except (msgspec.DecodeError, ValueError, IndexError):  # the first is a ValueError of another
        source.drop(KIND)
        return None
    return _at(mapped, path)


def _at(mapped: Mapped, path: str) -> Mapped:
    replace = msgspec.structs.replace
    return replace(mapped, summary=replace(mapped.summary, path=path))
