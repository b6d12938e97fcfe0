"""What is not known about modules inside of compiled regions."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from tb_hookview import schema
from tb_hookview.analysis.analysis import Analysis

_UNKNOWN = schema.Work(None, None, None, None, None)
_COMPILED_LATER = (
    "the model was compiled after hookview.wrap(), so its modules left no marks and nothing is "
    "attributed to them; compile first, then wrap what torch.compile() returns"
)
_NO_MARKS = (
    "no module of the wrapped model was called in the recording, so nothing is attributed to one"
)
_IN_REGIONS = (
    "; compiled regions ran: compile a model before hookview.wrap(), and wrap what torch.compile() "
    "returns"
)
_INSIDE = (
    "modules ran inside compiled regions, if at all: their own times are unknown, and part of the "
    "module that was compiled"
)


def without_unknown(row: schema.Module) -> schema.Module:
    """Return the row of a module inside a compiled region: null in the place of zeros."""
    return replace(
        row,
        compiled=True,
        forward=_UNKNOWN,
        backward=row.backward if any(_times(row.backward)) else _UNKNOWN,
        backward_ratio=None,
    )


def _times(work: schema.Work) -> tuple[float | None, float | None]:
    return work.host_us, work.device_us


def compiled_warnings(analysis: Analysis) -> list[tuple[str, str, int]]:
    """Return code, message and count of each warning about modules without calls."""
    manifest = analysis.trace.manifest
    if manifest is None or not manifest.modules:
        return []
    inside = int(np.count_nonzero(analysis.compiled_modules))
    called = bool((analysis.module_calls.module >= 0).any())
    if manifest.compiled:
        return [("compiled-after-wrap", _COMPILED_LATER, len(manifest.compiled))]
    if not called:
        return [("no-module-calls", _NO_MARKS + (_IN_REGIONS if inside else ""), 0)]
    return [("compiled", _INSIDE, inside)] if inside else []
