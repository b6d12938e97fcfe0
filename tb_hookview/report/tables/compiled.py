"""What is not known about modules inside of compiled regions."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from tb_hookview import schema
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.compiled.calls import NO_MAP
from tb_hookview.analysis.compiled.names import is_compiled
from tb_hookview.analysis.consistency.fault import Fault, counted
from tb_hookview.arrays.types import Bool
from tb_hookview.trace import EventCategory

_UNKNOWN = schema.Work(None, None, None, None, None)


def in_region(row: schema.Module, *, known: bool) -> schema.Module:
    """Return the row of a module inside a compiled region: null in the place of unknown zeros."""
    if known:
        return replace(row, compiled=True)
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
    if manifest.compiled and not _placed(analysis):
        return counted("compiled-after-wrap", 1)
    if not (analysis.module_calls.module >= 0).any() and not _placed(analysis):
        return counted(_why_without_calls(analysis), 1)
    return (*_unknown(analysis), *_not_placed(analysis))


def _why_without_calls(analysis: Analysis) -> str:
    """Code of the reason why no module of the manifest was called."""
    if not (analysis.host.kind == EventCategory.OPERATOR).any():
        return "nothing-ran"
    return "compiled-after-wrap" if _ran_compiled(analysis) else "no-module-calls"


def _ran_compiled(analysis: Analysis) -> bool:
    return any(map(is_compiled, analysis.trace.strings.texts))


def _placed(analysis: Analysis) -> bool:
    return analysis.compiled is not None and bool(len(analysis.compiled.ran))


def _unknown(analysis: Analysis) -> tuple[Fault, ...]:
    """Parts of compiled models of which nothing is compiled, or nothing known."""
    manifest = analysis.trace.manifest
    if manifest is not None and not _ran_compiled(analysis):
        return counted("compiled-nothing", sum(each.compiled for each in manifest.modules))
    unknown = analysis.compiled_modules & ~with_times(analysis)
    code = "compiled-in-no-call" if _has_maps(analysis) else "compiled"
    return counted(code, int(np.count_nonzero(unknown)))


def _has_maps(analysis: Analysis) -> bool:
    """Whether the recorder left a map of every compiled graph that was called."""
    compiled = analysis.compiled
    if compiled is None or not len(compiled.placement.calls.row):
        return False
    return not (compiled.placement.calls.whole == NO_MAP).any()


def with_times(analysis: Analysis) -> Bool:
    """Return whether the times of each module are known by placed graphs, shape (m,).

    They are for a module that a placed graph ran, and for one that no graph names if they are for
    all modules right below it: a list of modules is never called itself.
    """
    known = np.zeros(len(analysis.modules), bool)
    if analysis.compiled is None:
        return known
    known[analysis.compiled.ran[:, 1]] = True
    above, lacking = np.zeros_like(known), np.zeros_like(known)
    for module, parent in reversed([*enumerate(analysis.modules.parent.tolist())]):
        known[module] |= above[module] and not lacking[module]
        if parent >= 0:
            above[parent] = True
            lacking[parent] |= analysis.compiled_modules[module] and not known[module]
    return known


def _not_placed(analysis: Analysis) -> tuple[Fault, ...]:
    """Calls of graphs that the map does not place, by the reason."""
    if analysis.compiled is None:
        return ()
    calls = analysis.compiled.placement.calls
    codes = zip(_NOT_PLACED, np.bincount(calls.whole[calls.whole >= 0], minlength=4), strict=True)
    return tuple(fault for code, count in codes for fault in counted(code, int(count)))


_NOT_PLACED = (
    "compiled-without-map",
    "compiled-other-map",
    "compiled-other-rows",
    "compiled-nested",
)
"""In the order of `WHOLE`."""
