"""Reports of traces that were read before: from the cache without numpy, rules or reader, which
take longer to import than a kept report to read."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tb_hookview.cache import Source, about, later
from tb_hookview.report.result import Report, path_as_text
from tb_hookview.schema import ReportData

if TYPE_CHECKING:
    from tb_hookview.analysis.analysis import Analysis
    from tb_hookview.analysis.selection import Selection

KIND = "report"


def report(path: Path, steps: Sequence[str] | None, analysis: Callable[[Path], Analysis]) -> Report:
    """Return the report of a trace file, over all of it or over some steps; made of `analysis`
    where none is kept, and then kept.

    Raises:
        NotFoundError: the trace has no step of that name.
        Anything else: as `analysis`.
    """
    source = about(path)
    found = recall(source, steps) if source else None

    def load() -> Selection:
        from tb_hookview.analysis.selection import select

        return select(analysis(path), steps)

    if found is not None:
        return found.loaded_by(load)
    if "tb_hookview.report.build" not in sys.modules:
        from tb_hookview.trace import coworker

        coworker.prepare(path)
    from tb_hookview.report.build import build_report

    made = build_report(analysis(path), steps)
    if source:
        later(lambda: keep(source, steps, made))
    return made.loaded_by(load)


def keep(source: Source, steps: Sequence[str] | None, made: Report) -> bool:
    """Keep the report of a source, over all of it or over some steps.

    Returns:
        Whether it is kept.

    Raises:
        OSError: it cannot be written.
    """
    trace = msgspec.structs.replace(made.data.trace, path="")
    data = msgspec.structs.replace(made.data, trace=trace)
    return source.put(KIND, [msgspec.json.encode(data)], *_key(steps))


def recall(source: Source, steps: Sequence[str] | None) -> Report | None:
    """Return the report that is kept of a source; None for none."""
    content = source.get(KIND, *_key(steps))
    if content is None:
        return None
    try:
        data = _decoder().decode(content)
    except (msgspec.DecodeError, ValueError):
        source.drop(KIND, *_key(steps))
        return None
    trace = msgspec.structs.replace(data.trace, path=path_as_text(source.paths[0]))
    return Report(msgspec.structs.replace(data, trace=trace))


def _key(steps: Sequence[str] | None) -> tuple[str, ...]:
    return tuple(steps or ())


@cache
def _decoder() -> msgspec.json.Decoder[ReportData]:
    return msgspec.json.Decoder(ReportData)
