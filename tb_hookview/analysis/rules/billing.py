"""From matches to findings: which rule pays for which gap, and what that comes to.

Rules are asked in their order of priority. A match is billed for the gaps of the device that it is
blamed for, less those that are billed already. Each gap has one cause to begin with (`gaps.py`),
and time in which the profiler was at work is no rule's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from tb_hookview.analysis import schema
from tb_hookview.analysis.rules.by_place import by_place
from tb_hookview.analysis.rules.context import Context
from tb_hookview.analysis.rules.rule import Match, Rule

_SHARE_HIGH, _SHARE_MEDIUM = 0.05, 0.01
"""Share of the step from which a finding is of high or medium severity."""
_EXAMPLES = 20
_STACKS = (
    "Recorded with Python stacks, which slow the host down: without them the device may idle less."
)


def find(context: Context) -> list[schema.Finding]:
    """Every place where a rule holds, dearest first; those that cost nothing now come last."""
    if not context.steps:
        return []
    by_id = {rule.id: rule for rule in context.rules}
    gaps = context.analysis.gaps
    billed = np.zeros(len(gaps), bool)
    findings = []
    for rule in context.rules:
        for match in _matches(rule, context):
            new = match.gaps[~billed[match.gaps]]
            billed[new] = True
            idle_us = context.per_step(gaps.duration[new].sum())
            if idle_us or match.wasted_us or match.latent:
                findings.append(_finding(rule, match, idle_us, context, by_id))
    return sorted(findings, key=lambda finding: finding.cost_us_per_step or 0.0, reverse=True)


def _matches(rule: Rule, context: Context) -> Iterable[Match]:
    if rule.match is not None:
        return rule.match(context)
    return by_place(context, context.explained_by(rule)) if rule.waits is not None else ()


def _finding(
    rule: Rule, match: Match, idle_us: float, context: Context, by_id: dict[str, Rule]
) -> schema.Finding:
    cost = idle_us + match.wasted_us
    known = context.idle_us is not None
    saved = match.wasted_us if match.saved_us is None else match.saved_us
    gain = min(idle_us, context.idle_us or 0.0) + saved
    return schema.Finding(
        rule=rule.id,
        severity=_severity(cost, context.step_us),
        title=rule.title,
        module=match.module,
        where=_where(match),
        cost_us_per_step=cost if known else None,
        gain_us_per_step=gain if known and match.claims_gain else None,
        evidence="; ".join(_evidence(match, idle_us, known=known)),
        fix=rule.fix,
        confidence=match.confidence or rule.confidence,
        reference=rule.reference,
        advice=[_advice(by_id[advice]) for advice in rule.advice],
        count=match.count,
        examples=[start / 1000 for start in _starts(match)],
        caveats=[*match.caveats, *([_STACKS] if idle_us and context.with_stacks else [])],
    )


def _where(match: Match) -> str:
    if match.everywhere:
        return match.place
    module = "outside every module" if match.module is None else match.module or "(root)"
    return f"{module}, {match.place}" if match.place else module


def _evidence(match: Match, idle_us: float, *, known: bool) -> Iterator[str]:
    yield match.evidence
    if idle_us:
        yield f"the device idled {idle_us:.1f} us a step because of it"
    elif match.latent and not match.wasted_us:
        yield match.latent
    if known and not match.claims_gain:
        yield "what the remedy gains cannot be told from this trace"


def _starts(match: Match) -> list[int]:
    if match.examples is None:
        return []
    return [int(start) for start in np.sort(match.examples)[:_EXAMPLES]]


def _advice(rule: Rule) -> schema.Advice:
    return schema.Advice(id=rule.id, title=rule.title, fix=rule.fix)


def _severity(cost: float, step: float) -> str:
    share = cost / step if step else 0.0
    if share >= _SHARE_HIGH:
        return "high"
    if share >= _SHARE_MEDIUM:
        return "medium"
    return "low" if cost else "info"
