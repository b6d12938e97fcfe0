"""Rules about many, small or unfused kernels, and devices that do little."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.analysis.operators import OperatorCalls
from tb_hookview.arrays.joins import (
    asof,
    first_of_each,
    isin,
    mask_of,
    median,
    unique,
    unique_inverse,
)
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.sums import sum_by
from tb_hookview.arrays.types import Bool, DeviceEventIndex, GapIndex, Int, Nanoseconds
from tb_hookview.formats import format_count, format_us
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.parts import NO_STEPS
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.cuda_graphs import fix_where_recorded, fix_where_replayed
from tb_hookview.rules.evidence.devices import in_float64
from tb_hookview.rules.evidence.host import (
    LONG_NS,
    compiled_code,
    launched_places,
    mostly_before_compiled_code,
)
from tb_hookview.rules.evidence.optimizer import fix_of_events, fix_of_gaps
from tb_hookview.schema import Phase

# Kernels that end before the host has launched the next one.


_SHORT_NS = 10_000
_BETWEEN_LAUNCHES_NS = 200_000
"""An operator takes no longer to launch its kernel; longer gaps alone do not prove the rule."""
_IDLE_SHARE = 0.1
_MANY = 50
"""Kernels in all, as not all traces mark steps; with fewer there is no stream of launches."""
_FIX_COMPILED = (
    "Most of the time the device waits for launches of compiled code. Replay them from a CUDA "
    'graph (torch.compile with mode="reduce-overhead"), which needs static shapes and no syncs, or '
    "raise the batch size."
)


def _find_tiny_kernels_launch_bound(context: Context) -> Iterator[Occurrence]:
    kernels, since = _kernels(context)
    if len(kernels) < _MANY or context.mostly_lost:
        return
    length = context.analysis.device_events.duration[kernels]
    outrun = float(np.mean(length < since))
    gaps, whole, short = _waits(context)
    idle = context.gaps.us_per_step(gaps[short])
    if (
        median(length) >= _SHORT_NS
        or outrun <= 0.5
        or idle < _IDLE_SHARE * context.steps.measured_us
    ):
        return
    yield Occurrence(
        place=context.steps.whole,
        evidence=f"{len(kernels) / len(context.steps):.0f} kernels{context.each}, half of them "
        f"shorter than {format_us(median(length) / 1000)}; {outrun:.0%} are shorter than the time "
        f"since the launch before theirs; {len(unique(whole[short]))} gaps of up to "
        f"{_BETWEEN_LAUNCHES_NS // 1000} us before the next launch in {context.steps.text}, "
        f"{context.us_text(idle)}"
        f"{_longer(context, gaps[~short], whole[~short])}; longest for those of "
        f"{launched_places(context, gaps)}",
        gaps=gaps,
        examples=context.analysis.gaps.start[gaps[first_of_each(whole)]],
        caveats=("The gain is an upper bound.",),
        latent="these gaps are in the cost of other findings",
        fix=fix_where_recorded(context)
        or fix_of_gaps(context, gaps)
        or (_FIX_COMPILED if mostly_before_compiled_code(context, gaps) else ""),
    )


def _waits(context: Context) -> tuple[GapIndex, Int, Bool]:
    """Idle time before launches that come too late, in gaps that are not too long for these alone.

    Returns:
        Pieces of gaps, the gap of the device that each is of, and whether that is a short one.
    """
    analysis, steps = context.analysis, context.steps.indices
    gaps = context.gaps.of(Cause.LAUNCH)
    gaps = gaps[analysis.gaps.device_event[gaps] >= 0]
    gaps = gaps[analysis.idle_within(steps, whole=True)[gaps] < LONG_NS]
    table, inside = analysis.gaps, isin(analysis.gap_step, steps)
    length = sum_by(table.whole, np.where(inside, table.duration, 0), len(table))
    whole = table.whole[gaps]
    return gaps, whole, length[whole] <= _BETWEEN_LAUNCHES_NS


def _longer(context: Context, gaps: GapIndex, whole: Int) -> str:
    """Gaps that are longer than a launch takes and shorter than 1 ms, as a phrase."""
    if not len(gaps):
        return ""
    time = format_us(context.gaps.us_per_step(gaps))
    return f", and {format_count(len(unique(whole)), 'longer one')} below 1 ms, {time}"


def _kernels(context: Context) -> tuple[DeviceEventIndex, Nanoseconds]:
    """Kernels launched one by one and not by the compiler, and the time since the launch before."""
    work, call_tree = context.analysis.device_events, context.call_tree
    known = (
        (work.launch >= 0)
        & work.is_kernel
        & context.device_events.counted
        & ~context.device_events.launched_by(context.rows.inside(context.analysis.compiling))
    )
    kernels = np.flatnonzero(known)
    launch = work.launch[kernels]
    single = np.bincount(launch, minlength=len(call_tree))[launch] == 1
    kernels, launch = kernels[single], launch[single]
    thread, start = call_tree.thread[launch], call_tree.start[launch]
    before = asof(thread, start, thread, start - 1)
    since = np.where(before >= 0, start - start[before], 0) if len(before) else start
    return kernels, since


TINY_KERNELS_LAUNCH_BOUND = Rule(
    id="tiny-kernels-launch-bound",
    family="kernels",
    title="Launch-bound: kernels are shorter than their launches",
    description="At least 50 kernels, half of them shorter than 10 us, more than half "
    "shorter than the time since the launch before; and gaps of up to 200 us before the next "
    "launch that add up to 10% of the step (of a trace without steps, less its set-up). Kernels of "
    "a CUDA graph, and what the compiler launches, do not count, nor do traces of which the "
    "profiler lost most device events. The cost is the part of all gaps below 1 ms in which the "
    "device waits for the launch.",
    fix="Raise the batch size, fuse kernels by torch.compile, or replay them from a CUDA graph "
    '(mode="reduce-overhead", torch.cuda.make_graphed_callables), which needs static shapes and no '
    "syncs.",
    reference="Holistic Trace Analysis, kernel launch statistics; CUDA semantics, CUDA graphs",
    find=_find_tiny_kernels_launch_bound,
)


# Elementwise kernels and reductions that follow each other directly.


_EAGER = (
    *("vectorized_elementwise_kernel", "unrolled_elementwise_kernel", " elementwise_kernel<"),
    *(":elementwise_kernel<", "elementwise_kernel_manual_unroll", "at::native::reduce_kernel"),
)
_FOLDED = ("bn_fw_inf", "BatchNormFwdInfer")
"""Batch norms of inference: their statistics are constants, so each value is scaled by itself."""
_FIX_FOLDED = (
    " In inference fold batch norms into the convolutions before them "
    "(torch.nn.utils.fusion.fuse_conv_bn_eval)."
)
_SUMS_GRADIENTS = ("AccumulateGrad", "InputBuffer")
_CHAIN = 3
_SAVED = 0.7
_SHARE = 0.1
"""Part of the device time launched from which on it counts, if so much is saved."""
_CAVEAT = (
    "That one kernel reads what the one before it wrote is taken from their order alone: the "
    "sizes of tensors are not compared."
)


def _find_pointwise_unfused(context: Context) -> Iterator[Occurrence]:
    fusible, events = _fusible(context), context.device_events
    launched = events.us_per_step(~events.of_kinds("communication"))
    if _SAVED * events.us_per_step(fusible) <= _SHARE * launched:
        return
    order, chain = _chains(context, fusible)
    size, length = np.bincount(chain), context.analysis.device_events.duration[order]
    long = size >= _CHAIN
    wasted = order[long[chain] & ~_longest(chain, length)]
    waste = context.steps.us_per_step(context.analysis.device_events.duration[wasted].sum())
    if _SAVED * waste <= _SHARE * launched:
        return
    share = context.steps.us_per_step(length[long[chain]].sum()) / launched
    yield Occurrence(
        place=context.steps.whole,
        evidence=f"{format_count(int(long.sum()), 'chain')} of {_CHAIN} or more elementwise "
        f"kernels and reductions in {context.steps.text} ({size[long].mean():.1f} on average) "
        f"take {share:.0%} of the device time launched; all but the longest kernel of each take "
        f"{context.us_text(waste)}",
        count=int(size[long].sum()),
        wasted=wasted,
        gone=OperatorCalls(context.selection).launching_only(wasted),
        saved=_SAVED,
        examples=context.analysis.device_events.start[order[first_of_each(chain)[long]]],
        caveats=(_CAVEAT, f"Assumes that {_SAVED:.0%} of that time and of its launches is saved."),
        fix=POINTWISE_UNFUSED.fix + _FIX_FOLDED
        if events.containing(*_FOLDED)[wasted].any()
        else "",
    )


def _longest(chain: Int, length: Nanoseconds) -> Bool:
    """Whether each kernel is the longest of its chain, one of each."""
    order = np.lexsort((length, chain))
    last = np.ones(len(chain), bool)
    last[:-1] = chain[order][1:] != chain[order][:-1]
    return mask_of(order[last], len(chain))


def _chains(context: Context, wanted: Bool) -> tuple[DeviceEventIndex, Int]:
    """Device events in chains of wanted ones, and the chain of each."""
    work = context.analysis.device_events
    stream = context.analysis.trace.events.thread[work.event].astype(np.int64)
    counted = np.flatnonzero(context.device_events.counted)
    order = counted[np.lexsort((work.start[counted], stream[counted], work.device[counted]))]
    breaks = np.ones(len(order), bool)
    same = (stream[order][1:] == stream[order][:-1]) & wanted[order][1:] & wanted[order][:-1]
    breaks[1:] = ~same
    number = np.cumsum(breaks) - 1
    member = wanted[order]
    return order[member], unique_inverse(number[member])[1]


def _fusible(context: Context) -> Bool:
    """Elementwise kernels and reductions of forward and backward, not compiled; shape (d,)."""
    work = context.analysis.device_events
    phase = lookup(context.analysis.phases.row, work.launch)
    sums = context.device_events.launched_by(
        context.rows.inside(context.rows.containing(*_SUMS_GRADIENTS))
    )
    eager = context.device_events.containing(*_EAGER, *_FOLDED)
    compiled = context.device_events.launched_by(compiled_code(context))
    wanted = eager & ~in_float64(context) & ~sums & ~compiled
    forward = (phase == Phase.FORWARD) | (
        (phase == Phase.OTHER) & (not context.analysis.phases.known[Phase.FORWARD])
    )
    return np.asarray(wanted & (forward | (phase == Phase.BACKWARD)))


POINTWISE_UNFUSED = Rule(
    id="pointwise-unfused",
    family="kernels",
    title="Elementwise kernels are not fused",
    description="Chains of three or more elementwise kernels and reductions of torch, directly one "
    "after the other on a stream, where one kernel for each would save more than 10% of the device "
    "time launched in the step, collectives apart; in forward (where that is unknown, in no phase) "
    "or backward, but not where gradients are summed, nor in compiled code. Batch norms of "
    "inference count as elementwise. The cost is all of a chain but its longest kernel; the "
    "launches of these go, too, and the operators that launch nothing else.",
    fix="Compile the model or this part of it (torch.compile), or use fused layers: layer_norm, "
    "rms_norm, gelu, cross_entropy, scaled_dot_product_attention.",
    reference="PyTorch, Performance Tuning Guide: fuse operations",
    confidence="medium",
    find=_find_pointwise_unfused,
)


# Kernels with fewer blocks than the device has multiprocessors.


_BY_DESIGN = ("matrix", "convolution", "attention", "communication")
"""Kinds whose kernels run with few blocks for good reasons."""
_BY_CHANNEL = "_1C11_"
"""In names of cuDNN's batch norms that have one block per channel, whatever the batch."""
_OCCUPANCY = 25.0
_LONG_NS = 20_000
_SHARE_SMALL_GRID_LOW_OCCUPANCY = 0.2
_SAVED_SMALL_GRID_LOW_OCCUPANCY = 0.5
_LITTLE = 10
"""Device events in all, as not all traces mark steps; a trace with no more is a snippet."""


def _find_small_grid_low_occupancy(context: Context) -> Iterator[Occurrence]:
    work, events = context.analysis.device_events, context.analysis.trace.events
    blocks, occupancy = events.blocks_per_sm[work.event], events.occupancy[work.event]
    counted = context.device_events.counted & work.is_kernel
    aside = counted & context.device_events.of_kinds(*_BY_DESIGN)
    aside |= counted & context.device_events.containing(_BY_CHANNEL)
    counted &= ~aside
    few = counted & (blocks < 1)
    thin = counted & ~few & (occupancy < _OCCUPANCY) & (work.duration > _LONG_NS)
    share = context.device_events.share(few | thin)
    little = np.count_nonzero(context.device_events.counted) <= _LITTLE
    if little or share <= _SHARE_SMALL_GRID_LOW_OCCUPANCY:
        return
    rows = np.flatnonzero(few)
    yield Occurrence(
        place="kernels with few blocks",
        evidence=f"{_both(context, few, thin)}: {share:.0%} of device "
        f"work{_aside(aside & (blocks < 1))}",
        wasted=rows,
        wasted_ns=np.rint(work.duration[rows] * (1 - blocks[rows])).astype(np.int64),
        saved=_SAVED_SMALL_GRID_LOW_OCCUPANCY,
        examples=context.device_events.starts(few | thin),
        caveats=("Assumes that half of the time of empty multiprocessors can be saved.",),
        latent="occupancy alone does not show what a larger grid would save",
        fix=fix_of_events(context, *_with_time(context, few | thin)),
    )


def _aside(kernels: Bool) -> str:
    """Phrase of kernels that have few blocks for good reasons, "" without any."""
    if not kernels.any():
        return ""
    number = format_count(int(np.count_nonzero(kernels)), "kernel")
    return (
        f"; {number} of products, convolutions, attention, batch norms or collectives not counted"
    )


def _with_time(context: Context, wanted: Bool) -> tuple[DeviceEventIndex, Nanoseconds]:
    events = np.flatnonzero(wanted)
    return events, context.analysis.device_events.duration[events]


def _both(context: Context, few: Bool, thin: Bool) -> str:
    """Kernels with few blocks, and long ones of a low occupancy, as a phrase."""
    sorts = (
        (few, "with fewer blocks than the device has multiprocessors"),
        (thin, f"above {_LONG_NS // 1000} us with an occupancy below {_OCCUPANCY:.0f}%"),
    )
    return " and ".join(
        f"{format_count(int(kernels.sum()), 'kernel')} {what} take "
        f"{context.us_text(context.device_events.us_per_step(kernels))}"
        for kernels, what in sorts
        if kernels.any()
    )


SMALL_GRID_LOW_OCCUPANCY = Rule(
    id="small-grid-low-occupancy",
    family="kernels",
    title="Kernels fill only part of the device",
    description="Kernels with less than one block for each multiprocessor, or longer than 20 us "
    "with an estimated occupancy below 25%, in more than 20% of device work; matrix products, "
    "convolutions, attention, communication and batch norms of one block per channel do not count, "
    "nor do traces of up to ten device events. The cost is that part of their time in which "
    "multiprocessors have no block.",
    fix="Use a larger batch, pack sequences, merge parallel branches, or run small independent "
    "operators on several streams.",
    reference="torch_tb_profiler, GPU metrics; NVIDIA, Matrix Multiplication Background",
    confidence="medium",
    find=_find_small_grid_low_occupancy,
)


# The devices do nothing for more than half of the time.


_BUSY = 0.5
_NOT_COUNTED = (Cause.PROFILER, Cause.DEVICE, Cause.UNKNOWN)
"""Idle time of the profiler, at the ends of the trace, or although work is queued: that is where
kernels are missing from a trace, those of a CUDA graph for instance."""

_BEGIN = "Start with the most expensive cause, and the findings that name it."


def _find_gpu_low_utilization(context: Context) -> Iterator[Occurrence]:
    length = context.analysis.gaps.duration
    gaps = context.gaps.in_steps(*(cause for cause in Cause if cause not in _NOT_COUNTED))
    gaps = gaps[context.analysis.gaps.device_event[gaps] >= 0]
    busy, idle = context.steps.busy_us or 0.0, context.steps.us_per_step(length[gaps].sum())
    little = np.count_nonzero(context.device_events.counted) <= _LITTLE
    little |= context.mostly_lost or not context.analysis.launches_known
    if little or busy >= _BUSY * (busy + idle):
        return
    without = "what happens once, the profiler's time, the ends of the trace"
    without += "" if context.steps.marked else ", gaps of more than 1 ms"
    yield Occurrence(
        place=context.steps.whole,
        evidence=f"the devices were busy for {format_us(busy)} of {context.us_text(busy + idle)} "
        f"({busy / (busy + idle):.0%}; without {without} and idle time with work queued), and idle "
        "by cause: "
        f"{_by_cause(context, gaps)}",
        count=len(context.steps),
        gaps=gaps,
        claims_gain=False,
        caveats=() if context.steps.marked else (NO_STEPS,),
        latent="all of that idle time is in the cost of other findings",
        fix=f"{_BEGIN} {found}" if (found := _fix(context, gaps)) else "",
    )


def _fix(context: Context, gaps: GapIndex) -> str:
    found = fix_where_recorded(context) or fix_of_gaps(context, gaps)
    return found or fix_where_replayed(context)


def _by_cause(context: Context, gaps: GapIndex) -> str:
    table = context.analysis.gaps
    total = np.bincount(table.cause[gaps], weights=table.duration[gaps], minlength=len(Cause))
    return ", ".join(
        f"{Cause(cause).name.lower().replace('_', ' ')} "
        f"{format_us(context.steps.us_per_step(total[cause]))}"
        for cause in np.argsort(-total, kind="stable").tolist()
        if total[cause]
    )


GPU_LOW_UTILIZATION = Rule(
    id="gpu-low-utilization",
    family="kernels",
    title="The device is idle most of the time",
    description="Devices busy for less than half of the time. What happens once (kernels are "
    "loaded, the caching allocator grows, code is compiled in a trace without steps), time of the "
    "profiler, the ends of the trace, idle time with work queued and, where no steps are marked, "
    "gaps of more than 1 ms are not counted. At least 11 device events, and most of them not "
    "lost by the profiler. Idle time in the cost of other findings is not in this one.",
    fix=f"{_BEGIN} Where the host launches too late and kernels are short, raise the batch size, "
    "compile the model or use CUDA graphs.",
    reference="torch_tb_profiler, GPU utilization; Nsight Systems rules gpu_gaps, gpu_time_util; "
    "Holistic Trace Analysis, idle time breakdown",
    find=_find_gpu_low_utilization,
)
