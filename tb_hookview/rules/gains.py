"""Gains of findings, by replays without their causes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

import msgspec

from tb_hookview import schema
from tb_hookview.arrays.joins import setdiff, unique
from tb_hookview.arrays.types import SyncIndex
from tb_hookview.formats import format_per, format_step, format_us
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.cost_accounting import SEVERITIES, Found, severity

if TYPE_CHECKING:
    from tb_hookview.simulation.alone import Alone
    from tb_hookview.simulation.changes import Change
    from tb_hookview.simulation.simulator import Simulator

_APART = 0.1
"""Part of the larger of two gains from which on it counts that recording changes it."""
_FAR_MORE = 10
"""Times what a finding saves now that it would save after the other side is faster; below that it
saves much of it now, however little that is of the step."""
_RECORDED = "Saves an estimated {} without {}, {} as recorded."
_STARTING = "the start of loader workers"
_LOADING, _SLOWDOWN = "kernel loading", "the slowdown of recording"
_PAUSES = (
    "Unexplained delays of {} decide the {}, as where another process uses the device: the "
    "saving is {} with them, {} without."
)
_INSTEAD = (
    "By itself it saves {}, as the sync after it ({}) then waits for the same work: the saving is "
    "without that, too."
)
_BEHIND = (
    "Other syncs, which most steps of a run do not have, wait in its place here: without them it "
    "saves {} {}."
)
_WITHOUT_WORK = "a replay without any of its device work saves {}"
_FAILED = "the replay failed on this trace"
_FIRST = "It saves almost nothing now: the {} has to get faster first."


def with_gains(context: Context, found: Sequence[Found], alone: Alone) -> list[schema.Finding]:
    """Findings with their gains: what saves most first, then what saves nothing now.

    Before them stands what dominates the trace though it happens once, and what may decide the
    length of a step whatever else is saved.

    Args:
        context: the steps.
        found: the findings without gains.
        alone: replays of the steps.
    """
    if not any(each.finding.gain_unknown is None or _wastes_only(each) for each in found):
        rows, hidden = [(each.finding, weight(each.finding)) for each in found], set[str]()
    else:
        rows, hidden = _with_gains(context, found, alone)
    ranked = sorted(rows, key=lambda row: _rank(*row), reverse=True)
    small = schema.SMALL * context.steps.measured_us
    if ranked and ranked[0][1] < small:  # none saves as much: those first that cost it, also once
        ranked.sort(key=lambda row: row[0].severity == "info" or _amount(row[0]) < small)
    first = {each.finding.id for each in found if each.occurrence.dominates}
    paces = {each.finding.id: each.occurrence.paces for each in found if each.occurrence.paces}
    paces = {row.id: paces[row.id] for row, amount in ranked if row.id in paces and amount >= small}
    ranked.sort(key=lambda row: row[0].id not in first | paces.keys())
    return [_judged(_paced(row, paces), small, hidden=row.id in hidden) for row, _ in ranked]


def _paced(finding: schema.Finding, paces: Mapping[str, str]) -> schema.Finding:
    """The finding, with the caveats of what may decide the length of a step whatever it saves."""
    if not finding.gain_us_per_step or finding.id in paces:
        return finding
    return msgspec.structs.replace(finding, caveats=[*finding.caveats, *paces.values()])


def _judged(finding: schema.Finding, small: float, *, hidden: bool) -> schema.Finding:
    """The finding, and whether it is worth changing first, as where what it saves is hidden."""
    gain = finding.unrecorded_gain_us_per_step
    if gain is None:
        gain = finding.gain_us_per_step
    if gain is None:
        negligible = not schema.may_cost(finding)
    else:
        negligible = gain < small and finding.saves_after is None and not hidden
    return msgspec.structs.replace(finding, negligible=negligible)


def _with_gains(
    context: Context, found: Sequence[Found], alone: Alone
) -> tuple[list[tuple[schema.Finding, float]], set[str]]:
    """Findings with their gains, and what each is ranked by; ids of those whose syncs save more
    without others, which most steps lack."""
    failed: str | None = _FAILED
    passing = [each.occurrence.syncs for each in found if each.occurrence.passing]
    refused = context.failures.attempt("the replay", lambda: alone.simulator.gains_unknown, failed)
    rows, hidden = [], set()
    for each in found:
        rule = each.finding.rule
        finding, is_hidden = context.failures.attempt(
            f"the saving of {rule}",
            partial(_replayed, each, alone, context, refused, passing),
            (_not_replayed(each.finding, _FAILED), False),
        )
        hidden |= {finding.id} if is_hidden else set()
        ranked = weight(finding)
        if _wastes_only(each) and finding.gain_us_per_step is None and not refused:
            most = partial(_most, each, alone, context)
            now, later = context.failures.attempt(f"the rank of {rule}", most, (ranked, ranked))
            ranked = min(ranked, later)
            if not each.occurrence.claims_gain:
                rank = severity(later, context.steps.measured_us) if each.occurrence.scale else ""
                finding = _bounded(finding, max(now, later), rank)
        rows.append((finding, ranked))
    return rows, hidden


def _wastes_only(found: Found) -> bool:
    """Whether a finding costs device work alone."""
    charge = found.charge
    return charge.wasted_us > 0 and not charge.idle_us + charge.host_us


def _most(found: Found, alone: Alone, context: Context) -> tuple[float, float]:
    """How much shorter a step is without all that a finding costs, microseconds: of those recorded,
    and, as gains are ranked, of later ones where these are known."""
    from tb_hookview.rules.engine.removal import removed

    change = removed(context.analysis, found)
    now, later = alone.simulator.gain(change) / 1000, _later(alone.simulator, change)
    return now, now if later is None else later


def _bounded(finding: schema.Finding, most: float, rank: str) -> schema.Finding:
    """A finding of unknown gain with what a step without its device work gains, microseconds."""
    rank = "low" if rank == "info" else rank or finding.severity
    rank = min(finding.severity, rank, key=SEVERITIES.index)
    cost = finding.cost_us_per_step or 0.0
    less = f"; {_WITHOUT_WORK.format(format_us(most))}" if most < cost else ""
    return msgspec.structs.replace(
        finding,
        severity=rank,
        gain_bound_us_per_step=min(most, cost),
        gain_unknown=f"{finding.gain_unknown}{less}",
    )


def _not_replayed(finding: schema.Finding, why: str) -> schema.Finding:
    """The finding without a replay."""
    if finding.gain_unknown is not None:
        return finding
    return msgspec.structs.replace(finding, gain_unknown=why)


def weight(finding: schema.Finding) -> float:
    """What a finding is ranked by, microseconds per step: its gain in later steps, else as
    recorded, where unknown its cost (on the critical path, if replayed).

    What happens once comes after all that recurs.
    """
    if finding.once_us is not None:
        return 0.0
    gain, cost = finding.unrecorded_gain_us_per_step, finding.cost_us_per_step
    if gain is None:
        gain = finding.gain_us_per_step
    return gain if gain is not None else cost or 0.0


def _rank(finding: schema.Finding, ranked: float) -> tuple[float, bool, bool, float]:
    return (ranked, finding.severity != "info", finding.once_us is None, _amount(finding))


def _amount(finding: schema.Finding) -> float:
    """What a finding costs, per step or once, microseconds."""
    return finding.once_us or finding.cost_us_per_step or 0.0


def _replayed(
    found: Found,
    alone: Alone,
    context: Context,
    refused: str | None,
    passing: Sequence[SyncIndex],
) -> tuple[schema.Finding, bool]:
    """A finding with its gain, and whether syncs that most steps lack hide more."""
    finding = found.finding
    if finding.gain_unknown is not None or refused:
        why = refused if refused == _FAILED else f"not replayed: {refused}"
        bound = None if alone.simulator.mostly_lost else finding.gain_bound_us_per_step
        open_ = _not_replayed(finding, why)
        return msgspec.structs.replace(open_, gain_bound_us_per_step=bound), False
    from tb_hookview.rules.engine.removal import removed

    change = removed(context.analysis, found)
    gain = alone.simulator.gain(change) / 1000
    step = context.steps.measured_us
    later = _later(alone.simulator, change)
    saved = gain if later is None else later
    # What costs something but gains nothing by itself is more than informational.
    rank = severity(saved, step) if saved or not finding.cost_us_per_step else "low"
    worth = schema.SMALL * step <= (finding.cost_us_per_step or 0.0)
    after = _saves_after(alone, change, gain) if worth and saved < schema.SMALL * step else None
    pauses = list(_among_pauses(alone, change, gain))
    hidden = list(_behind_passing(change, gain, alone, passing, schema.SMALL * step))
    replayed = msgspec.structs.replace(
        finding,
        confidence="low" if pauses else finding.confidence,
        gain_us_per_step=gain,
        unrecorded_gain_us_per_step=later,
        gain_is_estimated=later is not None and _are_apart(gain, later),
        severity=rank,
        saves_after=after,
        caveats=[
            *finding.caveats,
            *([_FIRST.format(after)] if after else []),
            *_waiting_instead(found, change, gain, alone, context),
            *hidden,
            *pauses,
            *_differing(gain, later, schema.SMALL * step, alone.simulator),
        ],
    )
    return replayed, bool(hidden)


def _waiting_instead(
    found: Found, change: Change, gain: float, alone: Alone, context: Context
) -> Iterator[str]:
    """Yield a caveat where the syncs right after those of a finding would wait in their place."""
    from tb_hookview.rules.engine.removal import own_syncs

    own = own_syncs(context.analysis, found)
    if len(change.syncs) == len(own):
        return
    by_itself = alone.simulator.gain(msgspec.structs.replace(change, syncs=own)) / 1000
    if _are_apart(gain, by_itself):
        rules = context.explained[setdiff(change.syncs, own)]
        names = " and ".join(context.rules[each].id for each in unique(rules).tolist())
        yield _INSTEAD.format(format_us(by_itself), names)


def _behind_passing(
    change: Change, gain: float, alone: Alone, passing: Sequence[SyncIndex], small: float
) -> Iterator[str]:
    """Yield a caveat where syncs that most steps lack hide what a finding's own save."""
    if not passing or not len(change.syncs):
        return
    from tb_hookview.rules.engine.removal import without_syncs

    gone = without_syncs(passing)
    without = alone.simulator.gain(change, alone.simulator.predict(gone).outcome) / 1000
    if without - gain > small and _are_apart(gain, without):
        per = format_per(alone.simulator.analysis.steps.marked)
        yield _BEHIND.format(format_us(without), per)


def _later(simulator: Simulator, change: Change) -> float | None:
    """The gain in later steps (`Simulator.later`); None where these are unknown."""
    base = simulator.later
    return None if base is None else simulator.gain(change, base) / 1000


def _among_pauses(alone: Alone, change: Change, gain: float) -> Iterator[str]:
    """Yield a caveat where pauses that nothing explains decide the step, with both gains."""
    if alone.pauses_decide:
        without = alone.simulator.gain(change, alone.simulator.without_pauses) / 1000
        pauses = format_us(alone.unexplained / 1000)
        step = format_step(alone.simulator.analysis.steps.marked)
        yield _PAUSES.format(pauses, step, format_us(gain), format_us(without))


def _differing(
    gain: float, later: float | None, small: float, simulator: Simulator
) -> Iterator[str]:
    """Yield a caveat where it gains something else in later steps, with what these do without."""
    if later is not None and abs(later - gain) > small and _are_apart(gain, later):
        without = [_LOADING] if simulator.loading else []
        without += [_STARTING] if simulator.starting else []
        without += [_SLOWDOWN] if simulator.unrecorded is not None else []
        yield _RECORDED.format(format_us(later), " and ".join(without), format_us(gain))


def _are_apart(gain: float, later: float) -> bool:
    return abs(later - gain) > _APART * max(later, gain)


def _saves_after(alone: Alone, change: Change, gain: float) -> Literal["host", "device"] | None:
    """Which side has to get faster first: without it the change saves far more than it does now."""
    if change.device and alone.saved("device", change) > _FAR_MORE * 1000 * gain:
        return "host"
    if change.host and alone.saved("host", change) > _FAR_MORE * 1000 * gain:
        return "device"
    return None
