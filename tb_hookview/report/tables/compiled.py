"""What is not known about modules inside of compiled regions."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from tb_hookview import schema
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.consistency.fault import Fault, counted

_UNKNOWN = schema.Work(None, None, None, None, None)


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


def compiled_faults(analysis: Analysis) -> tuple[Fault, ...]:
    """What modules without calls say about the recording."""
    manifest = analysis.trace.manifest
    if manifest is None or not manifest.modules:
        return ()
    if manifest.compiled:
        return counted("compiled-after-wrap", len(manifest.compiled))
    if not (analysis.module_calls.module >= 0).any():
        return counted("no-module-calls", len(manifest.modules))
    return counted("compiled", int(np.count_nonzero(analysis.compiled_modules)))
