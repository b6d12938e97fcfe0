"""Rules about launches: too late, slowed by a first use, or of graphs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import isin, median, setdiff, unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.sums import sum_by
from tb_hookview.arrays.types import Bool, GapIndex, Int
from tb_hookview.formats import format_count, format_us
from tb_hookview.rules.engine.by_place import UNKNOWN
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.parts import NO_STEPS
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.cuda_graphs import (
    fix_where_recorded,
    fix_where_replayed,
    mostly_before_code_that_replays,
)
from tb_hookview.rules.evidence.host import (
    activity_in,
    launched_places,
    mostly_before_compiled_code,
    uncut,
)
from tb_hookview.rules.evidence.optimizer import fix_of_gaps
from tb_hookview.schema import module_label
from tb_hookview.trace import EventCategory

# The host launches too late, for no reason that another rule finds.


_SHARE = 0.05
"""Part of a step from which the device waits for launches for too long."""
_NAMED = 3
"""Modules, and operators, that evidence names."""
_LAUNCH_BOUND = "tiny-kernels-launch-bound"
"""Rule that says the same of a trace with short kernels, and more."""
_HOST_WORK = "host-work"
"""Rule about gaps that are too long to be the pace of launches."""
_SHALLOW = 5
"""Device events in the queue of the median launch up to which it is shallow all the time."""
_GAPS = 10
"""Gaps in all, as not all traces mark steps, and in steps that warm up, too; with fewer they are
single delays, not the pace of the host. No more device events than that are a snippet."""

_BEGIN = "Begin where the device waits longest."
_FIX_COMPILED = (
    f"{_BEGIN} Most of the time it waits for launches of compiled "
    'code: replay them from a CUDA graph (mode="reduce-overhead"), have the code around them '
    "written in C++ (torch._inductor.config.cpp_wrapper = True), or give each launch more to do by "
    "a larger batch. Look for threads that compete for the cores, and for garbage collection."
)
_FIX_REPLAYED = (
    f"{_BEGIN} Most of the time it waits for launches of compiled code that replays CUDA graphs "
    "already: have fewer, larger regions, copy less into graphs (inputs marked by "
    "torch._dynamo.mark_static_address are read where they are), or give each launch more to do by "
    "a larger batch. Look for threads that compete for the cores, and for garbage collection."
)


def _find_launch_queue_shallow(context: Context) -> Iterator[Occurrence]:
    gaps = context.gaps.in_steps(Cause.LAUNCH)
    gaps = gaps[context.analysis.gaps.device_event[gaps] >= 0]
    idle = context.gaps.us_per_step(gaps)
    shown = not (context.mostly_lost or _single_delays(context, gaps))
    if not shown or idle <= _SHARE * context.steps.measured_us:
        return
    if _found(context, _LAUNCH_BOUND):
        return
    for each in _found(context, _HOST_WORK):
        gaps = setdiff(gaps, each.gaps)
    if not len(gaps):
        return
    idle = context.gaps.us_per_step(gaps)
    yield Occurrence(
        place="launches",
        evidence=f"for {context.us_text(idle)} the device waited for its next launch"
        f"{_in_operators(context, gaps, idle)}{_longest(context, gaps)}; longest for those of "
        f"{launched_places(context, gaps)}"
        f"{_queue(context)}; time in the cost of other findings is not in this one",
        gaps=gaps,
        examples=context.analysis.gaps.start[gaps],
        caveats=() if context.steps.marked else (NO_STEPS,),
        fix=_fix(context, gaps),
    )


def _single_delays(context: Context, gaps: GapIndex) -> bool:
    """Whether so few gaps, or device events, show no pace of the host."""
    analysis, events = context.analysis, context.device_events.counted
    count = len(gaps)
    if context.steps.marked and count:
        late = (analysis.gaps.cause == Cause.LAUNCH) & ~analysis.idle_once
        count = int(np.count_nonzero(late & (analysis.gap_step >= 0)))
        events = analysis.device_event_step >= 0
    return bool(count < _GAPS or np.count_nonzero(events) <= _GAPS)


def _fix(context: Context, gaps: GapIndex) -> str:
    if found := fix_where_recorded(context) or fix_of_gaps(context, gaps):
        return f"{_BEGIN} {found}"
    if mostly_before_code_that_replays(context, gaps):
        return _FIX_REPLAYED
    if mostly_before_compiled_code(context, gaps):
        return _FIX_COMPILED
    found = fix_where_replayed(context)
    return f"{_BEGIN} {found}" if found else ""


def _found(context: Context, rule_id: str) -> list[Occurrence]:
    return [each for rule in context.rules if rule.id == rule_id for each in context.found(rule)]


def _longest(context: Context, gaps: GapIndex) -> str:
    """Phrase of a gap that is most of their time, and of the host in it; "" without one."""
    time = context.analysis.gaps.duration[gaps]
    if 2 * time.max() <= time.sum():
        return ""
    (name,) = activity_in(context, gaps[[int(time.argmax())]])
    host = f", with the host in {name}" if name else ""
    return f"; most of it is one gap of {format_us(time.max() / 1000)}{host}"


def _queue(context: Context) -> str:
    """Phrase of the queue that launches find; "" where it is only empty at times."""
    depths = _depths(context)
    depth = round(median(depths))
    if depth > _SHALLOW:
        return ""
    most = f"at most {format_count(depth, 'device event')}" if depth else "no device event"
    share = float((depths <= depth).mean())
    part = "all" if share == 1 else f"{share:.0%} of all"
    return f"; {part} launches found {most} in the queue"


def _depths(context: Context) -> Int:
    """Device events of its device launched and not done as each launch that counts began."""
    work, found = context.analysis.device_events, [np.zeros(0, np.int64)]
    begun = lookup(context.call_tree.start, work.launch)
    for device in unique(work.device):
        mine = (work.device == device) & (work.launch >= 0)
        launched, done = np.sort(begun[mine]), np.sort(work.end[mine])
        moment = begun[mine & context.device_events.counted]
        ahead = np.searchsorted(launched, moment) - np.searchsorted(done, moment)
        found.append(np.maximum(ahead, 0))
    return np.concatenate(found)


def _in_operators(context: Context, gaps: GapIndex, whole: float) -> str:
    """Part of some gaps with a launching thread in an operator, as a phrase; "" without any."""
    call_tree, idle = context.call_tree, context.analysis.gaps
    rows = np.flatnonzero(context.rows.counted & (context.host.kind == EventCategory.OPERATOR))
    rows = rows[context.rows.on_training_thread(rows)]
    if not len(rows):
        return ""
    busy = call_tree.time_of(rows)
    windows = np.stack([idle.start[gaps], idle.end[gaps]], axis=1)
    share = context.steps.us_per_step(intervals.lengths_within(busy, windows).sum()) / whole
    part = f"{share:.0%}"
    if whole_or_none := {"0%": "none", "100%": "all"}.get(part):
        return f", {whole_or_none} of it with the host in operators"
    return f", {part} of it with the host in operators and the rest outside of any"


LAUNCH_QUEUE_SHALLOW = Rule(
    id="launch-queue-shallow",
    family="host",
    title="The device waits for the host to launch",
    description="Over 5% of a step (of a trace without steps, less its set-up) in gaps whose next "
    "device event was launched too late, ten gaps or more and more device events (steps that warm "
    "up count there), where tiny-kernels-launch-bound does not hold and the profiler did not lose "
    "most device events. The cost is what all other findings leave; what it names is without the "
    "gaps of host-work.",
    fix=f"{_BEGIN} Give each launch more to do: a larger batch, "
    "torch.compile or CUDA graphs. Have fewer modules, hooks and Python in the loop. Look for "
    "threads that compete for the cores, and for garbage collection.",
    reference="Holistic Trace Analysis, queue length and idle time breakdown",
    find=_find_launch_queue_shallow,
    advice=("host-cpu-tuning", "device-choice"),
)


# Code of kernels that is loaded when they are launched for the first time.


_SHARE_OF_LOADING = 0.01
"""Part of a step from which on the time spent loading counts."""
_LATENT = "the device did not idle because of it in this trace; host times contain it"
_WARM_UP = (
    "Warm up before recording: run every kind of step first, and leave the first steps out of the "
    "trace (torch.profiler.schedule with wait and warmup) and out of comparisons."
)


def _find_kernel_first_use(context: Context) -> Iterator[Occurrence]:
    loads, gaps = context.analysis.kernel_loads, context.gaps.of(Cause.KERNEL_LOADING)
    counted = loads.loaded[context.rows.counted[loads.row[loads.loaded]]]
    held = context.steps.us_per_step(loads.duration[counted].sum())
    idle = float(context.analysis.gaps.duration[gaps].sum())
    if max(held, context.gaps.us_per_step(gaps)) <= _SHARE_OF_LOADING * context.steps.duration_us:
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


KERNEL_FIRST_USE = Rule(
    id="kernel-first-use",
    family="host",
    title="Kernels are loaded on their first use",
    description="Calls that load modules (cuModuleLoad*, hipModuleLoad* and the like), rows of "
    "overhead in which the driver does (those of a kind that Kineto does not know, Unrecognized, "
    "only in first launches and calls that look up code), calls that launch nothing and are in "
    "such rows for more than half of their time, calls of over 50 us that ask about a kernel "
    "(cudaFuncGetAttributes, cudaFuncSetAttribute, cudaOccupancyMaxActiveBlocksPerMultiprocessor "
    "and the like), first launches of a kernel in the trace that last over 20 times the median of "
    "the call's later ones until the kernel begins, with no sync, copy or allocation in them (not "
    "where only the trace's first launch does, and ten or more other kernels are launched: the "
    "profiler's start); operators in which a library (cuBLAS, cuDNN, MIOpen) starts, until they "
    "launch their first kernel: the first of their name that launches any, over 20 times later "
    "than the median of the others, with hipInit in them or cudaFree, next to a call for "
    "properties of the device, or first in an operator mostly in no call and before cudaMalloc; "
    "such a cudaFree elsewhere, over 20 times as long as the median of other calls that allocate "
    "or free; a cudaFree that is the trace's first call, before all device work, over 100 times as "
    "long as any of these; and 1 ms or more of a scripted function in no call, until TorchScript's "
    "fuser runs a kernel for the first time; over 1% of a step.",
    fix=f"{_WARM_UP} Where a first use must not stall a running training, "
    "CUDA_MODULE_LOADING=EAGER loads all kernels as CUDA starts, which takes longer then and costs "
    "device memory.",
    reference="CUDA Programming Guide, Lazy Loading",
    find=_find_kernel_first_use,
)


# Idle time of a device that replays graphs: before a graph's launch, or within one.


_SHARE_OF_GRAPHS = 0.02
_UNLISTED = (
    "Profilers do not list all kernels of every graph: where they are missing, a device looks idle "
    "that is not."
)
_LATE = (
    "Launch the next graph before the last one is done: copy its inputs on another stream, and "
    "read results later. Put more into one graph."
)
_LISTED = (
    "A gap within a graph comes from the order of its nodes, or from nodes that the profiler does "
    "not list: a newer CUPTI or rocprofiler may."
)


def _find_graph_pause(context: Context) -> Iterator[Occurrence]:
    known = context.analysis.device_events.launch >= 0
    replayed = np.asarray(context.device_events.of_graph & known)
    if not replayed.any():
        return
    yield from _before(context, replayed)
    yield from _within(context, replayed)


def _before(context: Context, replayed: Bool) -> Iterator[Occurrence]:
    """Gaps that end with a graph launched too late.

    The only launch in a trace that marks no steps follows no other, and uploads the graph: once.
    """
    launches = unique(context.analysis.device_events.launch[replayed])
    if len(launches) == 1 and not context.steps.marked:
        return
    gaps = context.gaps.in_steps(Cause.LAUNCH)
    gaps = gaps[lookup(replayed, context.analysis.gaps.device_event[gaps]) == 1]
    time, (spans, _) = context.gaps.us_per_step(gaps), uncut(context, gaps)
    before = context.steps.us_per_step(context.analysis.idle_before_call[gaps].sum())
    if time > _SHARE_OF_GRAPHS * context.steps.measured_us > 0:
        yield Occurrence(
            place="before graph launches",
            evidence=f"{format_count(len(spans), 'time')} a device waited for the launch of a "
            f"graph in {context.steps.text}, {context.us_text(time)}, "
            f"{context.us_text(time - before)} of it in the launching call",
            gaps=gaps,
            examples=spans[:, 0],
            title="The device waits for the launch of CUDA or HIP graphs",
            fix=_LATE,
        )


def _within(context: Context, replayed: Bool) -> Iterator[Occurrence]:
    """Gaps before events of graphs that were launched by then; reported, not charged."""
    table, work = context.analysis.gaps, context.analysis.device_events
    gaps = context.gaps.of(Cause.DEVICE)
    gaps = gaps[lookup(replayed, table.device_event[gaps]) == 1]
    time, (spans, _) = context.gaps.us_per_step(gaps), uncut(context, gaps)
    if time > _SHARE_OF_GRAPHS * context.steps.measured_us > 0:
        launches = len(unique(work.launch[table.device_event[gaps]]))
        yield Occurrence(
            place="within graphs",
            evidence=f"{format_count(len(spans), 'gap')} before kernels of graphs that had been "
            f"launched by then in {context.steps.text}, {context.us_text(time)}, the longest "
            f"{format_us((spans[:, 1] - spans[:, 0]).max() / 1000)}; "
            f"{format_count(launches, 'graph launch', 'graph launches')}",
            claims_gain=False,
            examples=spans[:, 0],
            caveats=(_UNLISTED,),
            latent="nothing on the host can shorten them: a graph runs as it was recorded",
            title="The device idles within CUDA or HIP graphs",
            fix=_LISTED,
        )


GRAPH_PAUSE = Rule(
    id="graph-pause",
    family="host",
    title="The device idles before or within CUDA or HIP graphs",
    description="Device events of CUDA or HIP graphs; gaps before a graph that was launched too "
    "late (not the only one of a trace that marks no steps), or gaps before events of a graph that "
    "was launched in time, of 2% of a step or more. Gaps within graphs are reported and cost "
    "nothing here.",
    fix=f"{_LATE} {_LISTED}",
    reference="CUDA semantics, CUDA graphs",
    confidence="medium",
    find=_find_graph_pause,
)
