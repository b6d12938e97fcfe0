"""Reports in the cache, as JSON."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tb_hookview.cache import Source
from tb_hookview.decoders import decoder
from tb_hookview.report.result import Report, path_as_text
from tb_hookview.schema import ReportData

KIND = "report"


def store(source: Source, steps: Sequence[str] | None, report: Report) -> bool:
    """Store the report of a source, over all of it or over some steps.

    Returns:
        Whether it is stored.

    Raises:
        OSError: it cannot be written.
    """
    trace = msgspec.structs.replace(report.data.trace, path="")
    data = msgspec.structs.replace(report.data, trace=trace)
    return source.put(KIND, [msgspec.json.encode(data)], *_key(steps))


def load(source: Source, path: str, steps: Sequence[str] | None) -> Report | None:
    """Return a source's cached report as that of a file at a path; None without."""
    content = source.get(KIND, *_key(steps))
    if content is None:
        return None
    try:
        data = decoder(ReportData).decode(content)
    except (msgspec.DecodeError, ValueError):
        source.drop(KIND, *_key(steps))
        return None
    trace = msgspec.structs.replace(data.trace, path=path_as_text(path))
    return Report(msgspec.structs.replace(data, trace=trace))


def _key(steps: Sequence[str] | None) -> tuple[str, ...]:
    return tuple(steps or ())
