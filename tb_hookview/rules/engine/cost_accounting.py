"""From occurrences to findings: which rule is charged for what, and what that comes to.

Rules are asked in their order of priority. An occurrence is charged for the gaps of the device that
it causes, and for the time of the device events that it calls wasted, less what is charged already:
no gap and no device event is charged twice. Each gap has one cause to begin with (`gaps.py`), and
time in which the profiler was at work is charged to no rule.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec
import numpy as np

from tb_hookview import schema
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import isin, mask_of, setdiff, unique
from tb_hookview.arrays.types import EventRow, GapIndex, Int, Nanoseconds, TimeSet
from tb_hookview.formats import format_us
from tb_hookview.rules.engine.by_place import by_place
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import HostTime, Occurrence, Rule

_EXAMPLES = 20
_BITS = (1 << 14) - 1


class _Spans(NamedTuple):
    """Some of what a rule may give as an example."""

    start: Nanoseconds
    end: Nanoseconds
    event: EventRow
    """Rows of the trace, -1 for what has none."""


def _examples(occurrence: Occurrence, context: Context) -> Nanoseconds:
    """Starts of all examples of an occurrence, nanoseconds."""
    if occurrence.examples is not None:
        return occurrence.examples
    return context.analysis.device_events.start[occurrence.wasted]


def starts(occurrence: Occurrence, context: Context) -> list[int]:
    """The first starts of an occurrence's examples, nanoseconds."""
    return np.sort(_examples(occurrence, context))[:_EXAMPLES].tolist()  # type: ignore[no-any-return]


def with_lengths(
    found: list[tuple[schema.Finding, Occurrence]], context: Context
) -> list[schema.Finding]:
    """Findings with what their examples are, in one walk over the trace's tables for all."""
    begun = [start for _, occurrence in found for start in starts(occurrence, context)]
    moments = unique(np.array(begun, np.int64))
    longest = np.full(len(moments), -1, np.int64)
    event = np.full(len(moments), -1, np.int64)
    for spans in _spans(context) if len(moments) else ():
        _longer(moments, spans, longest, event)
    lengths = dict(zip(moments.tolist(), longest.tolist(), strict=True))
    events = dict(zip(moments.tolist(), event.tolist(), strict=True))
    result = []
    for finding, occurrence in found:
        idle, begins = _idle_from_steps_start(occurrence, context), starts(occurrence, context)
        result.append(
            msgspec.structs.replace(
                finding,
                examples_us=[_us(idle[at] if at in idle else lengths[at]) for at in begins],
                examples_event_id=[_id(-1 if at in idle else events[at]) for at in begins],
            )
        )
    return result


def _idle_from_steps_start(occurrence: Occurrence, context: Context) -> dict[int, int]:
    """Start and duration of its gaps that begin as a step does, which is longer, nanoseconds."""
    table, gaps = context.analysis.gaps, occurrence.gaps
    if occurrence.of_steps:
        return {}
    gaps = gaps[isin(table.start[gaps], context.analysis.steps.window[:, 0])]
    return dict(zip(table.start[gaps].tolist(), table.duration[gaps].tolist(), strict=True))


def _longer(moments: Nanoseconds, spans: _Spans, longest: Nanoseconds, event: Int) -> None:
    """Note the spans that are longer than what is known to begin at their moments."""
    alike = mask_of(moments & _BITS, _BITS + 1)  # most begin at no moment with the same last bits
    rows = np.flatnonzero(alike[spans.start & _BITS])
    place = np.minimum(np.searchsorted(moments, spans.start[rows]), len(moments) - 1)
    same = moments[place] == spans.start[rows]
    for at, row in zip(place[same].tolist(), rows[same].tolist(), strict=True):
        length = spans.end[row] - spans.start[row]
        if length > longest[at]:
            longest[at], event[at] = length, spans.event[row]


def _us(length: int) -> float | None:
    return None if length < 0 else length / 1000


def _id(event: int) -> int | None:
    return None if event < 0 else event


def _spans(context: Context) -> Iterator[_Spans]:
    """Everything that a rule may give as an example."""
    analysis, tree, syncs = context.analysis, context.call_tree, context.syncs
    yield _Spans(tree.start, tree.end, tree.event)
    yield _Spans(
        analysis.device_events.start, analysis.device_events.end, analysis.device_events.event
    )
    yield _Spans(syncs.start, syncs.end, tree.event[syncs.row])
    gaps, windows = analysis.gaps, analysis.steps.window
    yield _Spans(gaps.start, gaps.end, np.full(len(gaps.start), -1))
    yield _Spans(windows[:, 0], windows[:, 1], np.full(len(windows), -1))


SEVERITIES = ("info", "low", "medium", "high")
_SHARES = (0.01, 0.05)
"""Shares of the step from which a finding is of medium and of high severity."""
_PREEMPTED = (
    "{} of that time are not in the cost: kernels ran that much longer than equal launches, as "
    "where another process uses the device"
)
_SLOWED = "Recorded with {}, which slow the host down: without them the device may idle less."


_LOST = (
    "The profiler lost the device events of {:.0%} of the launches: idle time there is not real."
)


class Charge(NamedTuple):
    """Cost charged to an occurrence, microseconds per step."""

    idle_us: float
    wasted_us: float
    elsewhere_us: float
    """Wasted time that other occurrences were charged for."""
    preempted_us: float
    """Wasted time in which something else probably used the device."""
    idle_elsewhere_us: float
    """Idle time that other occurrences were charged for."""
    gaps: GapIndex
    """Gaps of the idle time charged."""
    wasted_ns: Nanoseconds
    """Time charged of each of the occurrence's `wasted` events."""
    host: tuple[HostTime, ...]
    """Time of host threads charged."""
    host_us: float
    host_elsewhere_us: float
    """Host time that other occurrences were charged for."""


class Found(NamedTuple):
    """A finding, the occurrence that it was made of, and what it was charged for."""

    finding: schema.Finding
    occurrence: Occurrence
    charge: Charge


def findings(context: Context) -> list[Found]:
    """Every place where a rule holds, in order of priority; ids are unique."""
    if not len(context.steps):
        return []
    by_id = {rule.id: rule for rule in context.rules}
    account, seen = _Account(context), Counter[str]()
    found = []
    for rule in context.rules:
        for occurrence in occurrences(rule, context):
            charge = account.charge(occurrence)
            if (_costs(charge) or occurrence.latent) and not _is_explained(charge):
                finding = _finding(rule, occurrence, charge, context, by_id)
                seen[finding.id] += 1
                numbered = _numbered(finding, seen[finding.id])
                found.append(Found(numbered, occurrence, charge))
    measured = with_lengths([(one.finding, one.occurrence) for one in found], context)
    return [one._replace(finding=finding) for one, finding in zip(found, measured, strict=True)]


def _numbered(finding: schema.Finding, number: int) -> schema.Finding:
    """Tell findings of one rule and place apart."""
    if number == 1:
        return finding
    return msgspec.structs.replace(finding, id=f"{finding.id}#{number}")


def occurrences(rule: Rule, context: Context) -> list[Occurrence]:
    """Return the occurrences of a rule; of one that fails on this trace, none."""

    def found() -> list[Occurrence]:
        if rule.find is not None:
            return context.found(rule)
        if rule.explains is None:
            return []
        return list(by_place(context, context.explained_by(rule), caveats=rule.caveats))

    return context.failures.attempt(f"rule {rule.id}", found, [])


class _Account:
    """Idle and device time charged so far."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._charged = np.zeros(len(context.analysis.gaps), bool)
        self._left = context.analysis.device_events.duration - context.analysis.preempted
        self._host: dict[int, TimeSet] = {}

    def charge(self, occurrence: Occurrence) -> Charge:
        """Charge an occurrence for what no other was charged for yet."""
        context, wasted = self._context, occurrence.wasted
        new = occurrence.gaps[~self._charged[occurrence.gaps]]
        self._charged[new] = True
        wanted = occurrence.wasted_ns
        duration = context.analysis.device_events.duration[wasted]
        if wanted is None:
            wanted = duration
        usual = np.minimum(wanted, duration - context.analysis.preempted[wasted])
        preempted, wanted = (wanted - usual).sum(), usual
        taken = np.minimum(wanted, self._left[wasted])
        self._left[wasted] -= taken
        host = tuple(self._host_charge(each) for each in occurrence.host)
        host_us = context.steps.us_per_step(_length(host))
        return Charge(
            idle_us=context.gaps.us_per_step(new),
            wasted_us=context.steps.us_per_step(taken.sum()),
            elsewhere_us=context.steps.us_per_step((wanted - taken).sum()),
            preempted_us=context.steps.us_per_step(preempted),
            idle_elsewhere_us=context.gaps.us_per_step(setdiff(occurrence.gaps, new)),
            gaps=new,
            wasted_ns=taken,
            host=host,
            host_us=host_us,
            host_elsewhere_us=context.steps.us_per_step(_length(occurrence.host)) - host_us,
        )

    def _host_charge(self, wanted: HostTime) -> HostTime:
        charged = self._host.get(wanted.thread, intervals.EMPTY)
        self._host[wanted.thread] = intervals.normal(np.concatenate([charged, wanted.time]))
        return HostTime(wanted.thread, intervals.subtract(wanted.time, charged))


def _length(host: Iterable[HostTime]) -> int:
    return sum(intervals.length(each.time) for each in host)


def _is_explained(charge: Charge) -> bool:
    """Whether most of the host's time is in the cost of other findings, which say why."""
    return charge.host_us < charge.host_elsewhere_us


def _costs(charge: Charge) -> float:
    """Cost, microseconds per step."""
    return charge.idle_us + charge.wasted_us + charge.host_us


def _finding(
    rule: Rule, occurrence: Occurrence, charge: Charge, context: Context, by_id: dict[str, Rule]
) -> schema.Finding:
    cost = _costs(charge)
    known = context.steps.idle_us is not None or bool(occurrence.host)
    gain = cost - (charge.wasted_us + charge.host_us) * (1 - occurrence.saved)
    module = occurrence.module if occurrence.module is not None and occurrence.module >= 0 else None
    path = None if module is None else context.analysis.modules.path[module]
    where = _where(occurrence, path)
    return schema.Finding(
        id=f"{rule.id}:{where}",
        rule=rule.id,
        severity=_severity(occurrence, charge, context),
        once_us=occurrence.once_us,
        title=occurrence.title or rule.title,
        module=path,
        module_id=module,
        where=where,
        cost_us_per_step=cost if known else None,
        device_work_us_per_step=charge.wasted_us if known else None,
        gain_us_per_step=None,
        gain_bound_us_per_step=min(float(gain), cost)
        if known and occurrence.claims_gain and not occurrence.scale
        else None,
        gain_unknown=None
        if known and occurrence.claims_gain
        else _unknown_gain(known=known or context.on_host),
        evidence="; ".join(_evidence(occurrence, charge, context)),
        fix=occurrence.fix or rule.fix,
        confidence=occurrence.confidence or rule.confidence,
        reference=rule.reference,
        advice=[_advice(by_id[advice]) for advice in rule.advice],
        count=(len(_examples(occurrence, context)) or 1)
        if occurrence.count is None
        else occurrence.count,
        examples=[start / 1000 for start in starts(occurrence, context)],
        sync_ids=_explained(rule, occurrence, context),
        caveats=[*occurrence.caveats, *(_distortion(context) if charge.idle_us else ())],
    )


def _unknown_gain(*, known: bool) -> str:
    if known:
        return "this trace does not show what the fix gains"
    return "the trace does not show what the device did"


def _distortion(context: Context) -> Iterator[str]:
    """Yield caveats about what the recording lacks, and what in it slowed the host."""
    if context.lost:
        yield _LOST.format(context.lost)
    if recorded := [
        *(["Python stacks"] if context.with_stacks else []),
        *(["shapes of inputs"] if context.with_shapes else []),
    ]:
        yield _SLOWED.format(" and ".join(recorded))


def _where(occurrence: Occurrence, path: str | None) -> str:
    if occurrence.everywhere or occurrence.module is None:
        return occurrence.place
    module = "not in a module" if path is None else schema.module_label(path)
    return f"{module}, {occurrence.place}" if occurrence.place else module


def _evidence(occurrence: Occurrence, charge: Charge, context: Context) -> Iterator[str]:
    yield occurrence.evidence
    if elsewhere := charge.elsewhere_us + charge.host_elsewhere_us:
        yield f"{format_us(elsewhere)} of that time are in the cost of other findings"
    if charge.preempted_us:
        yield _PREEMPTED.format(format_us(charge.preempted_us))
    if charge.idle_us:
        more = f", and {format_us(charge.idle_elsewhere_us)} that are in the cost of other findings"
        yield f"the device idled {context.us_text(charge.idle_us)} because of it" + (
            more if charge.idle_elsewhere_us else ""
        )
    elif occurrence.latent and not charge.wasted_us + charge.host_us:
        yield occurrence.latent


def _explained(rule: Rule, occurrence: Occurrence, context: Context) -> list[int]:
    """Syncs of an occurrence that its rule explains, in order."""
    if not len(occurrence.syncs):
        return []
    mine = context.explained_by(rule)[occurrence.syncs]
    found: list[int] = np.sort(occurrence.syncs[mine]).tolist()
    return found


def _advice(rule: Rule) -> schema.Advice:
    return schema.Advice(id=rule.id, title=rule.title, fix=rule.fix)


def _severity(occurrence: Occurrence, charge: Charge, context: Context) -> str:
    """By the cost, of devices their mean, as each has the whole step.

    What happens once is never more than low: it is in no step but its own.
    """
    if occurrence.once_us is not None and _costs(charge):
        return "low"
    devices = max(len(context.device_events.devices), 1)
    cost = (charge.idle_us + charge.wasted_us) / devices + charge.host_us
    return severity(cost, context.steps.measured_us)


def severity(us: float, step: float) -> str:
    """Severity of what gains or costs some microseconds of a step."""
    share = us / step if step else 0.0
    return SEVERITIES[1 + bisect(_SHARES, share) if us else 0]
