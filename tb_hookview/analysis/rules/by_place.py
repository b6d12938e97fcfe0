"""Matches of the rules that explain waits: one per module and place."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.forest import lookup
from tb_hookview.analysis.names import node_name
from tb_hookview.analysis.rules.context import Context
from tb_hookview.analysis.rules.rule import Confidence, Match
from tb_hookview.trace.columns import Bool, Int

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
) -> Iterator[Match]:
    """Yield one match for each module and place of some waits.

    Args:
        context: the trace.
        waits: which waits, shape (w,); those of steps that do not count are left out.
        note: a phrase that the evidence ends with.
        caveats: sentences for every match.
        confidence: where it differs from the rule's.
    """
    found = np.flatnonzero(waits & context.own_waits)
    for (module, place), members in _groups(context, found).items():
        group = np.array(members, np.int64)
        yield Match(
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


def _groups(context: Context, found: Int) -> dict[tuple[str | None, str], list[int]]:
    """Waits by module, and by the node or operator that asked for them."""
    groups: dict[tuple[str | None, str], list[int]] = {}
    asked = _askers(context, found)
    for wait, row in zip(found.tolist(), asked.tolist(), strict=True):
        module = context.module_path(int(context.waits.position[wait]))
        groups.setdefault((module, node_name(context.host.name(row))), []).append(wait)
    return groups


def _askers(context: Context, found: Int) -> Int:
    """Row to name for each wait: the node or outermost operator that asked; else the call."""
    waits, analysis = context.waits, context.analysis
    operator = waits.outermost(_OPERATOR)[found]
    operator = np.where(operator >= 0, operator, waits.operator[found])
    node = lookup(analysis.nodes.position, analysis.row_node[waits.position[found]])
    asked = np.where(node >= 0, node, operator)
    return np.where(waits.operator[found] >= 0, asked, waits.position[found])


def _evidence(context: Context, group: Int) -> str:
    blocked = (context.waits.end - context.waits.start)[group].sum()
    times = f"{len(group)} wait{'s' if len(group) > 1 else ''}"
    steps = f"{len(context.steps)} step{'s' if len(context.steps) > 1 else ''}"
    return f"{times} in {steps}, the host blocked {context.per_step(blocked):.1f} us a step"
