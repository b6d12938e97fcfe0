"""Reports in the cache, as JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec
from msgspec import Struct

from tb_hookview.cache import Cache, File, FileState, Source, later
from tb_hookview.decoders import decoder
from tb_hookview.report.result import path_as_text
from tb_hookview.schema import COUNTED, ReportData
from tb_hookview.schema.units import Us
from tb_hookview.schema.whatif import Bound

OUTLINE = "outline"


class Outline(Struct, frozen=True):
    """What a list shows of a trace."""

    step_us: Us | None
    devices: list[str]
    bound: Bound
    sentence: str


def store_outline(cache: Cache, file: File, state: FileState, data: ReportData) -> None:
    """Cache the outline of a report on the measured steps of a file in some state.

    Raises:
        OSError: it cannot be written.
    """
    outline = Outline(
        step_us=data.per_step.duration_us,
        devices=list(dict.fromkeys(device.name or device.kind for device in data.trace.devices)),
        bound=data.verdict.bound,
        sentence=data.verdict.sentence,
    )
    cache.put(OUTLINE, [msgspec.json.encode(outline)], repr(file), repr(state))


def outline_of(cache: Cache, file: File) -> Outline | None:
    """Return the cached outline of a file as it is now; None where there is none."""
    try:
        content = cache.get(OUTLINE, repr(file), repr(file.state()))
        return None if content is None else decoder(Outline).decode(content)
    except (OSError, msgspec.DecodeError):
        return None


KIND = "report"


class CachedReports(NamedTuple):
    """Reports on one state of a file, each on all of its trace or on some steps."""

    source: Source
    path: str
    """Address of the file now: content that was moved is the same."""

    def load(self, steps: Sequence[str] | None) -> ReportData | None:
        """Return a report; None where none is cached."""
        content = self.source.get(KIND, *(steps or ()))
        if content is None:
            return None
        try:
            data = decoder(ReportData).decode(content)
        except (msgspec.DecodeError, ValueError):
            self.source.drop(KIND, *(steps or ()))
            return None
        if outline_of(self.source.cache, self.source.file) is None:  # it was moved, or touched
            later(lambda: self._outline(steps, data, self.source.file.state()))
        return _at(data, path_as_text(self.path))

    def store(self, steps: Sequence[str] | None, report: Callable[[], ReportData]) -> None:
        """Cache what is returned, on another thread."""
        later(lambda: self.put(steps, report()))

    def put(self, steps: Sequence[str] | None, data: ReportData) -> bool:
        """Cache a report.

        Returns:
            Whether it is cached.

        Raises:
            OSError: it cannot be written.
        """
        state = self.source.file.state()
        stored = self.source.put(KIND, [msgspec.json.encode(_at(data, ""))], *(steps or ()))
        if stored:
            self._outline(steps, data, state)
        return stored

    def _outline(self, steps: Sequence[str] | None, data: ReportData, state: FileState) -> None:
        if not steps or list(steps) == [COUNTED]:
            store_outline(self.source.cache, self.source.file, state, data)


def _at(data: ReportData, path: str) -> ReportData:
    trace = msgspec.structs.replace(data.trace, path=path)
    return msgspec.structs.replace(data, trace=trace)
