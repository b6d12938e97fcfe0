"""Guards of compiled code: what is tested before each call."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays import intervals
from tb_hookview.formats import format_count, format_us
from tb_hookview.rules.engine.by_place import UNKNOWN
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.host import LOOKUP

_SHARE, _SHARE_IDLE = 0.05, 0.01
"""Part of a step from which it is reported: of the host, and of a device that idles meanwhile."""


def _find(context: Context) -> Iterator[Occurrence]:
    rows = np.flatnonzero(context.rows.named(LOOKUP) & context.rows.counted)
    spans = intervals.of(context.call_tree.start[rows], context.call_tree.end[rows])
    time = context.steps.us_per_step(intervals.length(spans))
    gaps = context.gaps.within(spans, Cause.LAUNCH)
    step, idle = context.steps.duration_us, context.gaps.us_per_step(gaps)
    if not len(rows) or (time <= _SHARE * step and idle <= _SHARE_IDLE * step):
        return
    yield Occurrence(
        place="guards",
        everywhere=True,
        evidence=f"{format_count(len(rows) / len(context.steps), 'time')}{context.each} the "
        "guards of "
        f"compiled code are tested, {format_us(time)} of host time{context.each} "
        f"({time / step:.0%}); nothing is compiled for that",
        count=len(rows),
        gaps=gaps,
        examples=context.call_tree.start[rows],
        latent="the devices had work meanwhile" if context.device_events.devices else UNKNOWN,
    )


RULE = Rule(
    id="guard-checks",
    family="compile",
    title="Checking the guards of compiled code takes long",
    description="TorchDynamo Cache Lookup in 5% of a step or more, or with devices that idle "
    "meanwhile for 1% of it. It is part of every call of compiled code, and says nothing about "
    "graph breaks or compilation.",
    fix="Compile larger parts at once, and with fewer graph breaks: each region tests its guards "
    'in each call. Drop guards on what never changes (options={"guard_filter_fn": ...}), or skip '
    "them after the warm-up by torch.compiler.set_stance(skip_guard_eval_unsafe=True). "
    'mode="reduce-overhead" saves the launches, not the guards.',
    reference="torch.compiler.set_stance; PyTorch, Profiling to understand torch.compile "
    "performance",
    confidence="medium",
    find=_find,
)
