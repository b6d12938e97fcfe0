"""Outlines of traces: what a list of hundreds shows of each without reading any.

An outline is written next to the cached report, under the state of the file, which is looked up
without reading the file.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from tb_hookview.cache import Cache, File, FileState
from tb_hookview.decoders import decoder
from tb_hookview.schema import ReportData
from tb_hookview.schema.units import Us
from tb_hookview.schema.whatif import Bound

KIND = "outline"


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
    cache.put(KIND, [msgspec.json.encode(outline)], repr(file), repr(state))


def outline_of(cache: Cache, file: File) -> Outline | None:
    """Return the cached outline of a file as it is now; None where there is none."""
    try:
        content = cache.get(KIND, repr(file), repr(file.state()))
        return None if content is None else decoder(Outline).decode(content)
    except (OSError, msgspec.DecodeError):
        return None
