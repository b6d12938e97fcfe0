"""Kernels that end before the host has launched the next one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays.joins import asof, median
from tb_hookview.arrays.types import DeviceEventIndex, GapIndex, Nanoseconds
from tb_hookview.formats import format_count, format_us
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.host import LONG_NS, launched_places, mostly_before_compiled_code
from tb_hookview.trace import EventCategory

_SHORT_NS = 10_000
_BETWEEN_LAUNCHES_NS = 200_000
"""An operator takes no longer to launch its kernel; longer gaps alone do not prove the rule."""
_IDLE_SHARE = 0.1
_MANY = 50
"""Kernels a step; with fewer there is no stream of launches to speak of."""
_NAMED = 3
"""Modules, and operators, that the evidence names."""
_FIX_COMPILED = (
    "Most of the time the device waits for launches of compiled code. Replay them from a CUDA "
    'graph (torch.compile with mode="reduce-overhead"), which needs static shapes and no syncs, or '
    "raise the batch size."
)


def _find(context: Context) -> Iterator[Occurrence]:
    kernels, since = _kernels(context)
    if len(kernels) < _MANY * len(context.steps):
        return
    length = context.analysis.device_events.duration[kernels]
    outrun = float(np.mean(length < since))
    gaps = context.gaps.of(Cause.LAUNCH)
    gaps = gaps[context.analysis.gaps.duration[gaps] < LONG_NS]
    short = context.analysis.gaps.duration[gaps] <= _BETWEEN_LAUNCHES_NS
    idle = context.gaps.us_per_step(gaps[short])
    if (
        median(length) >= _SHORT_NS
        or outrun <= 0.5
        or idle < _IDLE_SHARE * context.steps.duration_us
    ):
        return
    yield Occurrence(
        place="the whole step",
        everywhere=True,
        evidence=f"{len(kernels) / len(context.steps):.0f} kernels{context.each}, half of them "
        "shorter "
        f"than {format_us(median(length) / 1000)}; {outrun:.0%} are shorter than the host took to "
        f"launch the next; {short.sum()} gaps of up to {_BETWEEN_LAUNCHES_NS // 1000} us before "
        f"the next launch in {context.steps.text}, {context.us_text(idle)}"
        f"{_longer(context, gaps[~short])}; longest for those of "
        f"{launched_places(context, gaps, _NAMED)}",
        count=len(gaps),
        gaps=gaps,
        examples=context.analysis.gaps.start[gaps],
        caveats=("The gain is an upper bound.",),
        latent="these gaps are in the cost of other findings",
        fix=_FIX_COMPILED if mostly_before_compiled_code(context, gaps) else "",
    )


def _longer(context: Context, gaps: GapIndex) -> str:
    """Gaps that are longer than a launch takes and shorter than 1 ms, as a phrase."""
    if not len(gaps):
        return ""
    time = format_us(context.gaps.us_per_step(gaps))
    return f", and {format_count(len(gaps), 'longer one')} below 1 ms, {time}"


def _kernels(context: Context) -> tuple[DeviceEventIndex, Nanoseconds]:
    """Kernels launched one by one, and the time since the launch before theirs."""
    work, call_tree = context.analysis.device_events, context.call_tree
    events = context.analysis.trace.events
    known = (
        (work.launch >= 0)
        & (events.kind[work.event] == EventCategory.KERNEL)
        & context.device_events.counted
    )
    kernels = np.flatnonzero(known)
    launch = work.launch[kernels]
    single = np.bincount(launch, minlength=len(call_tree))[launch] == 1
    kernels, launch = kernels[single], launch[single]
    thread, start = call_tree.thread[launch], call_tree.start[launch]
    before = asof(thread, start, thread, start - 1)
    since = np.where(before >= 0, start - start[before], 0) if len(before) else start
    return kernels, since


RULE = Rule(
    id="tiny-kernels-launch-bound",
    family="kernels",
    title="Launch-bound: kernels are shorter than their launches",
    description="At least 50 kernels per step, half of them shorter than 10 us, more than half "
    "shorter than the time since the launch before; and gaps of up to 200 us before the next "
    "launch that add up to 10% of the step. Kernels of a CUDA graph do not count. The cost is all "
    "gaps below 1 ms.",
    fix="Raise the batch size, fuse kernels by torch.compile, or replay them from a CUDA graph "
    '(mode="reduce-overhead", torch.cuda.make_graphed_callables), which needs static shapes and no '
    "syncs.",
    reference="Holistic Trace Analysis, kernel launch statistics; CUDA semantics, CUDA graphs",
    find=_find,
)
