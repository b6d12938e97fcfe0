"""Loops in Python of which each iteration waits for the device in more places than one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import union
from tb_hookview.formats import format_count
from tb_hookview.rules.engine.by_place import NO_STEPS
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.element_loops import WHOLE_BATCH, SyncLoop, sync_loops

_SHARE = 0.03
_NAMED = 4
"""Operators that the evidence names."""
_CAVEAT = (
    "The gain is without all syncs of the loop, and without the time before its launches in which "
    "the device idles: each sync by itself saves little while the others of its iteration stay. "
    "Where an iteration needs what the one before it read, only a part can go."
)


def _find(context: Context) -> Iterator[Occurrence]:
    places: dict[tuple[int, str], list[SyncLoop]] = {}
    for loop in sync_loops(context):
        module = context.rows.module_of(loop.around) if loop.around >= 0 else -1
        places.setdefault((module, context.host.name(int(loop.iterations[0]))), []).append(loop)
    for (module, name), group in places.items():
        held = context.steps.us_per_step(sum(intervals.length(each.time) for each in group))
        if held > _SHARE * context.steps.measured_us:
            yield _occurrence(context, module, name, group, held)


def _occurrence(
    context: Context, module: int, name: str, group: list[SyncLoop], held: float
) -> Occurrence:
    syncs = np.sort(np.concatenate([each.syncs for each in group]))
    iterations = np.concatenate([each.iterations for each in group])
    time = intervals.normal(np.concatenate([each.time for each in group]))
    waits = context.rows.outermost_operator_of(context.syncs.row[syncs])
    number = Counter(context.host.name(row) for row in waits.tolist())
    named = ", ".join(f"{each} ({count:,})" for each, count in number.most_common(_NAMED))
    return Occurrence(
        place=f"a loop around {name}",
        module=module if module >= 0 else None,
        evidence=f"{format_count(len(iterations), 'iteration')} of the same operators in "
        f"{context.steps.text}, {context.part_text(held)}, with "
        f"{format_count(len(syncs), 'sync')} in {named}",
        syncs=syncs,
        gaps=union(context.gaps.of_syncs(syncs), context.gaps.within(time, Cause.LAUNCH)),
        examples=context.syncs.start[syncs],
        caveats=(_CAVEAT,) if context.steps.marked else (_CAVEAT, NO_STEPS),
    )


RULE = Rule(
    id="sync-loop",
    family="sync",
    title="Each iteration of a Python loop waits for the device several times",
    description="Operators of two names or more that sync, in iterations of the same operators: 32 "
    "or more of each sequence under one parent in a step, four or more in a row, of at most 2 ms "
    "and 64 operators, over 3% of the step (of a trace without steps, less its set-up). Iterations "
    "with a backward, an optimizer, a loader, a whole model, compiled code or a CUDA graph do not "
    "count. The cost is the idle time of its syncs, and that before launches within the loop.",
    fix=WHOLE_BATCH,
    reference="NVIDIA, Writing Sync-Free Code: dynamic patterns",
    confidence="medium",
    find=_find,
)
