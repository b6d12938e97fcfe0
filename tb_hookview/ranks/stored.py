"""Summaries of ranks in the cache: a trace that was read once is not read again for its run."""

from __future__ import annotations

import msgspec

from tb_hookview.cache import Source
from tb_hookview.loading.packing import pack, unpack
from tb_hookview.ranks.summary import RankSummary

KIND = "rank"


def store(source: Source, summary: RankSummary) -> bool:
    """Store the summary of a source.

    Returns:
        Whether it is stored.

    Raises:
        OSError: it cannot be written.
    """
    return source.put(KIND, pack(msgspec.structs.replace(summary, path="")))


def load(source: Source, path: str) -> RankSummary | None:
    """Return a source's cached summary as that of a trace at a path; None without."""
    content = source.get(KIND)
    if content is None:
        return None
    try:
        summary = unpack(content, RankSummary)
    except (msgspec.DecodeError, ValueError, IndexError):  # the first is a ValueError of another
        source.drop(KIND)
        return None
    return msgspec.structs.replace(summary, path=path)
