"""Code of kernels that is loaded when they are launched for the first time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays.joins import isin, unique
from tb_hookview.arrays.sums import sum_by
from tb_hookview.arrays.types import Bool, Int
from tb_hookview.formats import format_count, format_us
from tb_hookview.rules.engine.by_place import UNKNOWN
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.schema import module_label
from tb_hookview.trace import EventCategory

_SHARE = 0.01
"""Part of a step from which on the time spent loading counts."""
_NAMED = 3
"""Modules that the evidence names."""
_LATENT = "the device did not idle because of it in this trace; host times contain it"
_WARM_UP = (
    "Warm up before recording: run every kind of step first, and leave the first steps out of the "
    "trace (torch.profiler.schedule with wait and warmup) and out of comparisons."
)


def _find(context: Context) -> Iterator[Occurrence]:
    loads, gaps = context.analysis.kernel_loads, context.gaps.of(Cause.KERNEL_LOADING)
    counted = np.flatnonzero(context.rows.counted[loads.row])
    held = context.steps.us_per_step(loads.duration[counted].sum())
    idle = float(context.analysis.gaps.duration[gaps].sum())
    if max(held, context.gaps.us_per_step(gaps)) <= _SHARE * context.steps.duration_us:
        return
    fused = len(counted) and _compiled(context, counted).all()
    yield Occurrence(
        place="first use of kernels",
        evidence=_evidence(context, counted, held),
        count=len(counted),
        gaps=gaps,
        once_us=max(float(loads.duration[counted].sum()), idle) / 1000,
        claims_gain=False,
        scale="kernel_loading",
        examples=context.call_tree.start[loads.row[counted]],
        confidence=None if _named(context, counted) else "medium",
        caveats=("Kernels are loaded once: steps after the warm-up do not spend this time again.",),
        latent=_LATENT if len(context.analysis.device_events) else UNKNOWN,
        fix="" if context.analysis.trace.runtime == "cuda" and not fused else _WARM_UP,
    )


def _evidence(context: Context, loads: Int, held: float) -> str:
    if not len(loads):
        return "the driver recorded that it loaded functions or modules"
    compiled = np.count_nonzero(_compiled(context, loads))
    fused = f", {compiled} of them compiled by TorchScript's fuser" if compiled else ""
    longest = context.analysis.kernel_loads.duration[loads].max() / 1000
    return (
        f"the host loaded code for {context.us_text(held)} in "
        f"{format_count(len(loads), 'call')} in {context.steps.text}, "
        f"{len(_launches(context, loads))} of which launched a kernel for the first "
        f"time{_libraries(context, loads)}{fused}; the longest took {format_us(longest)}"
        f"{_modules(context, loads)}"
    )


def _launches(context: Context, loads: Int) -> Int:
    """Those of some loads that launched something."""
    rows, launch = context.analysis.kernel_loads.row[loads], context.analysis.device_events.launch
    return loads[isin(rows, unique(launch)) | _compiled(context, loads)]


def _compiled(context: Context, loads: Int) -> Bool:
    """Whether TorchScript's fuser compiled in each of some loads: before the row began."""
    table = context.analysis.kernel_loads
    return np.asarray(table.start[loads] < context.call_tree.start[table.row[loads]])


def _starts(context: Context, loads: Int) -> int:
    """Number of loads by which a library starts."""
    rows = context.analysis.kernel_loads.row[loads]
    starts = context.rows.named("cudaFree")[rows]
    starts |= (context.host.kind[rows] == EventCategory.OPERATOR) & ~_compiled(context, loads)
    return int(np.count_nonzero(starts))


def _named(context: Context, loads: Int) -> bool:
    """Whether some of them load by their names."""
    return len(_launches(context, loads)) + _starts(context, loads) < len(loads)


def _libraries(context: Context, loads: Int) -> str:
    starts = _starts(context, loads)
    return f" and {starts} started a library such as cuBLAS or cuDNN" if starts else ""


def _modules(context: Context, loads: Int) -> str:
    """Modules in whose host time most of the loading is."""
    table, modules = context.analysis.kernel_loads, context.analysis.modules
    module = context.analysis.attribution.row_module[table.row[loads]]
    if not (module >= 0).any():
        return ""
    time = sum_by(module, table.duration[loads], len(modules))
    most = [m for m in np.argsort(-time, kind="stable")[:_NAMED].tolist() if time[m]]
    named = context.listed((module_label(modules.path[m]), time[m]) for m in most)
    return f"; host times of modules contain it, most of all those of {named}"


RULE = Rule(
    id="kernel-first-use",
    family="host",
    title="Kernels are loaded on their first use",
    description="Calls that load modules (cuModuleLoad*, hipModuleLoad* and the like), rows of "
    "overhead in which the driver does, first launches of a kernel in the trace that last over "
    "20 times the median of the call's later ones until the kernel begins, with no sync, copy or "
    "allocation in them; operators in which a library (cuBLAS, cuDNN, MIOpen) starts, until they "
    "launch their first kernel: the first of their name that launches any, over 20 times later "
    "than the median of the others, with hipInit or, next to a call for properties of the device, "
    "cudaFree in them; such a cudaFree elsewhere, over 20 times as long as the median of other "
    "calls that allocate or free; and 1 ms or more of a scripted function in no call, until "
    "TorchScript's fuser runs a kernel for the first time; over 1% of a step.",
    fix=f"{_WARM_UP} Where a first use must not stall a running training, "
    "CUDA_MODULE_LOADING=EAGER loads all kernels as CUDA starts, which takes longer then and costs "
    "device memory.",
    reference="CUDA Programming Guide, Lazy Loading",
    find=_find,
)
