"""Occurrences of the rules that explain syncs: one per module and place."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.arrays.types import Bool, SyncIndex, TreeRow
from tb_hookview.formats import format_count, format_us
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.places import places_of
from tb_hookview.rules.engine.rule import Occurrence
from tb_hookview.schema.rules import Confidence

LATENT = (
    "the device did not idle after it in this trace; it still keeps the host from running ahead, "
    "and the code around it out of a CUDA graph"
)
_OPERATOR = r"(?!autograd::)\w+::.+"
"""Operators of a library; a Python function of autograd around them says less."""
UNKNOWN = "the trace does not show what the device did meanwhile"


def by_place(
    context: Context,
    syncs: Bool,
    *,
    note: str = "",
    caveats: tuple[str, ...] = (),
    confidence: Confidence | None = None,
) -> Iterator[Occurrence]:
    """Yield one occurrence for each module and place of some syncs.

    Args:
        context: the trace.
        syncs: which syncs, shape (s,); those that do not count are left out.
        note: a phrase that the evidence ends with.
        caveats: sentences for every occurrence.
        confidence: where it differs from the rule's.
    """
    found = np.flatnonzero(syncs & context.syncs.counted)
    if not len(found):
        return
    operator = _operators(context, found)
    rows = context.syncs.row[found]
    for (module, place), members in places_of(context, rows, operator).items():
        group = found[members]
        yield Occurrence(
            place=place,
            module=module,
            evidence=_evidence(context, group) + (f"; {note}" if note else ""),
            count=len(group),
            syncs=group,
            gaps=context.gaps.of_syncs(group),
            examples=context.syncs.start[group],
            caveats=caveats,
            confidence=confidence,
            latent=UNKNOWN if context.analysis.sync_idle is None else LATENT,
        )


def _operators(context: Context, found: SyncIndex) -> TreeRow:
    """Outermost operator of a library around each sync, else the innermost, else -1."""
    outermost, innermost = context.syncs.outermost(_OPERATOR), context.syncs.operator
    return np.where((innermost >= 0) & (outermost >= 0), outermost, innermost)[found]


def _evidence(context: Context, group: SyncIndex) -> str:
    blocked = context.steps.us_per_step((context.syncs.end - context.syncs.start)[group].sum())
    syncs, steps = format_count(len(group), "sync"), format_count(len(context.steps), "step")
    return f"{syncs} in {steps}, the host blocked for {format_us(blocked)} a step"
