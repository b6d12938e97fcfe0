"""From matches to findings: which rule pays for which gap, and what that comes to.

Rules are asked in their order of priority. A match is billed for the gaps of the device that it is
blamed for, and for the time of the work that it calls wasted, less what is billed already: no gap,
and no piece of work, is paid for twice. Each gap has one cause to begin with (`gaps.py`), and time
in which the profiler was at work is no rule's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from tb_hookview import schema
from tb_hookview.rules.engine.by_place import by_place
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule

_SHARE_HIGH, _SHARE_MEDIUM = 0.05, 0.01
"""Share of the step from which a finding is of high or medium severity."""
_EXAMPLES = 20
_SLOWED = "Recorded with {}, which slow the host down: without them the device may idle less."


def find(context: Context) -> list[schema.Finding]:
    """Every place where a rule holds, dearest first; those that cost nothing now come last."""
    if not context.steps:
        return []
    by_id = {rule.id: rule for rule in context.rules}
    ledger = _Ledger(context)
    findings = []
    for rule in context.rules:
        for match in matches(rule, context):
            bill = ledger.bill(match)
            if bill.idle_us or bill.wasted_us or match.latent:
                findings.append(_finding(rule, match, bill, context, by_id))
    return sorted(findings, key=lambda finding: finding.cost_us_per_step or 0.0, reverse=True)


def matches(rule: Rule, context: Context) -> Iterable[Occurrence]:
    """Where a rule holds."""
    if rule.match is not None:
        return rule.match(context)
    return by_place(context, context.explained_by(rule)) if rule.waits is not None else ()


class _Bill(NamedTuple):
    """What a match is billed for, microseconds a step."""

    idle_us: float
    wasted_us: float
    elsewhere_us: float
    """Wasted time that others were billed for."""


class _Ledger:
    """What is billed already."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._billed = np.zeros(len(context.analysis.gaps), bool)
        self._left = context.analysis.device_events.duration.copy()

    def bill(self, match: Occurrence) -> _Bill:
        """Bill a match for what nobody was billed for yet."""
        per_step, work = self._context.per_step, self._context.analysis.device_events
        new = match.gaps[~self._billed[match.gaps]]
        self._billed[new] = True
        wanted = work.duration[match.wasted] if match.wasted_ns is None else match.wasted_ns
        taken = np.minimum(wanted, self._left[match.wasted])
        self._left[match.wasted] -= taken
        return _Bill(
            idle_us=per_step(self._context.analysis.gaps.duration[new].sum()),
            wasted_us=per_step(taken.sum()),
            elsewhere_us=per_step((wanted - taken).sum()),
        )


def _finding(
    rule: Rule, match: Occurrence, bill: _Bill, context: Context, by_id: dict[str, Rule]
) -> schema.Finding:
    cost = bill.idle_us + bill.wasted_us
    known = context.idle_us is not None
    gain = min(bill.idle_us, context.idle_us or 0.0) + bill.wasted_us * match.saved
    return schema.Finding(
        rule=rule.id,
        severity=_severity(cost, context.step_us),
        title=rule.title,
        module=match.module,
        where=_where(match),
        cost_us_per_step=cost if known else None,
        gain_us_per_step=gain if known and match.claims_gain else None,
        evidence="; ".join(_evidence(match, bill, known=known)),
        fix=rule.fix,
        confidence=match.confidence or rule.confidence,
        reference=rule.reference,
        advice=[_advice(by_id[advice]) for advice in rule.advice],
        count=match.count,
        examples=[start / 1000 for start in _starts(match)],
        caveats=[*match.caveats, *(_distortion(context) if bill.idle_us else ())],
    )


def _distortion(context: Context) -> Iterator[str]:
    """What of the recording made the host slower than it is."""
    if recorded := [
        *(["Python stacks"] if context.with_stacks else []),
        *(["shapes of inputs"] if context.with_shapes else []),
    ]:
        yield _SLOWED.format(" and ".join(recorded))


def _where(match: Occurrence) -> str:
    if match.everywhere:
        return match.place
    module = "outside every module" if match.module is None else match.module or "(root)"
    return f"{module}, {match.place}" if match.place else module


def _evidence(match: Occurrence, bill: _Bill, *, known: bool) -> Iterator[str]:
    yield match.evidence
    if bill.elsewhere_us:
        yield f"{bill.elsewhere_us:.1f} us of that time are in the cost of other findings"
    if bill.idle_us:
        yield f"the device idled {bill.idle_us:.1f} us a step because of it"
    elif match.latent and not bill.wasted_us:
        yield match.latent
    if known and not match.claims_gain:
        yield "what the remedy gains cannot be told from this trace"


def _starts(match: Occurrence) -> list[int]:
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
