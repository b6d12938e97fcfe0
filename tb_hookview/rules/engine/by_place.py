"""Matches of the rules that explain waits: one per module and place."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.arrays.types import Bool, Int
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.places import places_of
from tb_hookview.rules.engine.rule import Occurrence
from tb_hookview.schema.rules import Confidence

LATENT = (
    "the device did not idle behind it in this trace; it still keeps the host from running ahead, "
    "and the code around it out of a CUDA graph"
)
_OPERATOR = r"(?!autograd::)\w+::.+"
"""Operators of a library; a Python function of autograd around them says less."""
UNKNOWN = "the trace does not tell what the device did meanwhile"


def by_place(
    context: Context,
    waits: Bool,
    *,
    note: str = "",
    caveats: tuple[str, ...] = (),
    confidence: Confidence | None = None,
) -> Iterator[Occurrence]:
    """Yield one match for each module and place of some waits.

    Args:
        context: the trace.
        waits: which waits, shape (w,); those of steps that do not count are left out.
        note: a phrase that the evidence ends with.
        caveats: sentences for every match.
        confidence: where it differs from the rule's.
    """
    found = np.flatnonzero(waits & context.own_waits)
    if not len(found):
        return
    operator = _operators(context, found)
    rows = context.waits.position[found]
    for (module, place), members in places_of(context, rows, operator).items():
        group = found[members]
        yield Occurrence(
            place=place,
            module=module,
            evidence=_evidence(context, group) + (f"; {note}" if note else ""),
            count=len(group),
            gaps=context.gaps_of_waits(group),
            examples=context.waits.start[group],
            caveats=caveats,
            confidence=confidence,
            latent=UNKNOWN if context.analysis.sync_idle is None else LATENT,
        )


def _operators(context: Context, found: Int) -> Int:
    """Outermost operator of a library around each wait; else the innermost of any; -1 for none."""
    outermost, innermost = context.waits.outermost(_OPERATOR), context.waits.operator
    return np.where((innermost >= 0) & (outermost >= 0), outermost, innermost)[found]


def _evidence(context: Context, group: Int) -> str:
    blocked = (context.waits.end - context.waits.start)[group].sum()
    times = f"{len(group)} wait{'s' if len(group) > 1 else ''}"
    steps = f"{len(context.steps)} step{'s' if len(context.steps) > 1 else ''}"
    return f"{times} in {steps}, the host blocked {context.per_step(blocked):.1f} us a step"
