"""The host launches too late, for no reason that another rule finds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import median, setdiff, unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import GapIndex, Int
from tb_hookview.formats import format_count, format_us
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.parts import NO_STEPS
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.host import (
    activity_in,
    launched_places,
    mostly_before_compiled_code,
)
from tb_hookview.rules.evidence.optimizer import fix_of_gaps
from tb_hookview.trace import EventCategory

_SHARE = 0.05
"""Part of a step from which the device waits for launches for too long."""
_NAMED = 3
"""Modules, and operators, that the evidence names."""
_LAUNCH_BOUND = "tiny-kernels-launch-bound"
"""Rule that says the same of a trace with short kernels, and more."""
_HOST_WORK = "host-work"
"""Rule about gaps that are too long to be the pace of launches."""
_SHALLOW = 5
"""Device events in the queue of the median launch up to which it is shallow all the time."""
_GAPS = 10
"""Gaps a step; with fewer they are single delays, not the pace of the host. No more device events
than that are a snippet."""

_BEGIN = "Begin where the device waits longest."
_FIX_COMPILED = (
    f"{_BEGIN} Most of the time it waits for launches of compiled "
    'code: replay them from a CUDA graph (mode="reduce-overhead"), have the code around them '
    "written in C++ (torch._inductor.config.cpp_wrapper = True), or give each launch more to do by "
    "a larger batch. Look for threads that compete for the cores, and for garbage collection."
)


def _find(context: Context) -> Iterator[Occurrence]:
    gaps = context.gaps.in_steps(Cause.LAUNCH)
    idle = context.gaps.us_per_step(gaps)
    few, events = _GAPS * len(context.steps), np.count_nonzero(context.device_events.counted)
    if idle <= _SHARE * context.steps.measured_us or len(gaps) < few or events <= few:
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
        f"{launched_places(context, gaps, _NAMED)}{_queue(context)}; time in the cost of other "
        "findings is not in this one",
        gaps=gaps,
        examples=context.analysis.gaps.start[gaps],
        caveats=() if context.steps.marked else (NO_STEPS,),
        fix=_fix(context, gaps),
    )


def _fix(context: Context, gaps: GapIndex) -> str:
    if of_optimizer := fix_of_gaps(context, gaps):
        return f"{_BEGIN} {of_optimizer}"
    return _FIX_COMPILED if mostly_before_compiled_code(context, gaps) else ""


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
    depth = round(median(_depths(context)))
    if depth > _SHALLOW:
        return ""
    most = f"at most {format_count(depth, 'device event')}" if depth else "no device event"
    return f"; half of all launches found {most} in the queue"


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


RULE = Rule(
    id="launch-queue-shallow",
    family="host",
    title="The device waits for the host to launch",
    description="Over 5% of a step (of a trace without steps, less its set-up) in gaps whose next "
    "device event was launched too late, ten gaps per step or more and more device events, where "
    "tiny-kernels-launch-bound does not hold. The cost is what all other findings leave; what it "
    "names is without the gaps of host-work.",
    fix=f"{_BEGIN} Give each launch more to do: a larger batch, "
    "torch.compile or CUDA graphs. Have fewer modules, hooks and Python in the loop. Look for "
    "threads that compete for the cores, and for garbage collection.",
    reference="Holistic Trace Analysis, queue length and idle time breakdown",
    find=_find,
    advice=("host-cpu-tuning", "device-choice"),
)
