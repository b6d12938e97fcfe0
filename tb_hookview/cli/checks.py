"""The limits that `hookview check` checks a report against.

Counts and sums are of the whole report; shares are of its measured steps, and say so.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import NamedTuple, TypeVar

from tb_hookview import schema
from tb_hookview.comparison.compare import side_of
from tb_hookview.comparison.document import unlike_steps
from tb_hookview.comparison.sides import within_noise
from tb_hookview.errors import UsageError
from tb_hookview.formats import format_count, format_per, format_share, format_us
from tb_hookview.ranks.document import place_text
from tb_hookview.report.result import Report

_Subject = TypeVar("_Subject")


@dataclass(frozen=True)
class Outcome:
    """One limit and what was found."""

    holds: bool
    what: str
    value: float
    limit: float
    unit: str
    syncs: tuple[schema.Sync, ...] = ()
    """The syncs it counted, those that block longest first."""
    note: str = ""
    """What the value contains or leaves out, as a phrase."""


class Check(NamedTuple):
    """A limit by the option that sets it, and what compares it with what was found."""

    option: str
    outcome: Callable[[], Outcome]
    """Raises `UsageError` where the limit cannot be checked."""


def option_of(name: str) -> str:
    """Option of `hookview check` by its parameter."""
    return f"--{name.replace('_', '-')}"


def backward_syncs(report: schema.ReportData, limit: float) -> Outcome:
    """Count the syncs in the backward pass.

    Raises:
        UsageError: the trace has no backward pass, no device events, or not their launches.
    """
    _need_backward(report)
    counted = [sync for sync in _syncs(report) if sync.phase == "backward"]
    return _outcome("syncs in backward", len(counted), limit, "", counted)


def syncs(report: schema.ReportData, limit: float) -> Outcome:
    """Count the syncs of all phases.

    Raises:
        UsageError: the trace has no device events, or not their launches.
    """
    counted = _syncs(report)
    return _outcome("syncs", len(counted), limit, "", counted)


def sync_us(report: schema.ReportData, limit: float) -> Outcome:
    """Add up the time the host is blocked, in microseconds.

    Raises:
        UsageError: the trace has no device events, or not their launches.
    """
    counted = _syncs(report)
    blocked = sum(sync.duration_us for sync in counted)
    return _outcome("host blocked in syncs", blocked, limit, " us", counted)


def unattributed_percent(report: schema.ReportData, limit: float) -> Outcome:
    """Compute the share of the backward time that belongs to no module, in percent.

    Time that belongs to an annotation alone is not in it; the note says how much that is.

    Raises:
        UsageError: the trace has no backward pass.
    """
    _need_backward(report)
    whole, missing = _backward(report.coverage)
    name = f"backward time not attributed, {report.per_step.text}"
    outcome = _outcome(name, 100 * missing / whole, limit, "%", [])
    named = report.coverage.by_origin.get("annotation", 0.0)
    if not named:
        return outcome
    return replace(outcome, note=f"{format_share(named, whole)} is attributed to annotations only")


def idle_percent(report: schema.ReportData, limit: float) -> Outcome:
    """Compute the share of the mean step in which the devices were idle, in percent.

    Raises:
        UsageError: the trace has no device events.
    """
    means, devices = report.per_step, len(report.trace.devices)
    whole = devices * (means.duration_us or 0.0)
    if means.device_idle_us is None or not whole:
        raise UsageError(f"{report.trace.path}: no device events")
    return _outcome(
        f"device idle, {means.text}", 100 * means.device_idle_us / whole, limit, "%", []
    )


def module_percent(report: schema.ReportData, path: str, limit: float) -> Outcome:
    """Compute a module's share of the backward, including children, without communication; percent.

    Raises:
        UsageError: the trace has no backward pass, no such module, or not all of its work.
    """
    _need_backward(report)
    device = report.coverage.measure == "device"
    whole = report.coverage.total(device=device)
    found = next((module for module in report.modules if module.path == path), None)
    if found is None:
        paths = [module.path for module in report.modules]
        close = difflib.get_close_matches(path, paths, n=3, cutoff=0.5)
        hint = f" (close: {', '.join(close)})" if close else ""
        raise UsageError(f"{report.trace.path}: no module {schema.module_label(path)!r}{hint}")
    part = found.backward.total(device=device)
    if found.unseen or part is None:
        raise UsageError(f"{report.trace.path}: work unknown: {found.unseen or schema.UNSEEN}")
    counted = [sync for sync in schema.own_syncs(report.syncs) if _is_below(sync.module, path)]
    counted = [sync for sync in counted if sync.phase == "backward"]
    name = f"backward of {schema.module_label(path)}, {report.per_step.text}"
    share = part / whole if whole else 0.0
    return _outcome(name, 100 * share, limit, "%", counted)


def _is_below(path: str | None, above: str) -> bool:
    return path is not None and (not above or path == above or path.startswith(f"{above}."))


_OF_ALL: dict[str, Callable[[schema.ReportData, float], Outcome]] = {
    "max_backward_syncs": backward_syncs,
    "max_syncs": syncs,
    "max_sync_us": sync_us,
}
"""Limits of the whole trace, or of the chosen steps."""

_OF_COUNTED: dict[str, Callable[[schema.ReportData, float], Outcome]] = {
    "max_unattributed_percent": unattributed_percent,
    "max_idle_percent": idle_percent,
}
"""Limits of the measured steps."""


def tests_of(
    subject: _Subject,
    checks: Mapping[str, Callable[[_Subject, float], Outcome]],
    limits: Mapping[str, float],
) -> Iterator[Check]:
    """Yield what checks each limit of a subject, by the names of their options."""
    for name, limit in limits.items():
        yield Check(option_of(name), partial(checks[name], subject, limit))


def tests(
    report: Report, limits: Mapping[str, float], modules: Iterable[tuple[str, float]]
) -> Iterator[Check]:
    """Yield what checks each limit, on the steps that it is of.

    Args:
        report: on the whole trace, or on chosen steps.
        limits: by name, as the options of `hookview check`.
        modules: paths, and the limit of each one's share.
    """
    for name, limit in limits.items():
        if name in _OF_ALL:
            yield from tests_of(report.data, _OF_ALL, {name: limit})
        else:
            yield from tests_of(report.counted.data, _OF_COUNTED, {name: limit})
    for path, limit in modules:
        option = f"{option_of('max_module_percent')} {schema.module_label(path)}"
        yield Check(option, partial(module_percent, report.counted.data, path, limit))


def _need_backward(report: schema.ReportData) -> None:
    if not any(_backward(report.coverage)):
        shown = report.per_step.backward_us is not None
        what = "no backward pass" if shown else "the trace does not show its backward pass"
        if report.totals.backward_device_us is None and report.totals.unplaced_graph_us:
            what = "its backward pass may be in replayed graphs"
        raise UsageError(f"{report.trace.path}: {what} ({report.per_step.text})")


def _syncs(report: schema.ReportData) -> list[schema.Sync]:
    """Syncs of the program's own; without any, the trace must be able to show one."""
    launches_known = report.totals.queue_full_count is not None
    if not report.syncs and not launches_known:
        lacking = "launches" if report.trace.devices else "device events"
        raise UsageError(f"{report.trace.path}: no {lacking}")
    return schema.own_syncs(report.syncs)


def _backward(coverage: schema.Coverage) -> tuple[float, float]:
    if coverage.measure == "device":
        return coverage.backward_device_us or 0.0, coverage.unattributed_us or 0.0
    return coverage.backward_host_us or 0.0, coverage.unattributed_host_us or 0.0


def _outcome(
    what: str, value: float, limit: float, unit: str, counted: list[schema.Sync]
) -> Outcome:
    longest = tuple(sorted(counted, key=lambda sync: -sync.duration_us))
    return Outcome(value <= limit, what, value, limit, unit, longest)


def step_ms(report: Report, limit: float) -> Outcome:
    """Compute the median of the measured steps, in milliseconds.

    Where the device needs longer than a step lasts on the host, they last until its work is done.

    Raises:
        UsageError: the trace marks no steps.
    """
    behind = _is_behind(report)
    steps = _durations_ms(report, behind)
    value = median(steps)
    return Outcome(value <= limit, _step(behind), value, limit, " ms", note=_spread(steps))


def regression_percent(report: Report, baseline: Report, limit: float) -> Outcome:
    """Compute how much longer the median step is than the baseline's, in percent; steps as there.

    Raises:
        UsageError: one of the traces marks no steps.
    """
    sides = (report, baseline)
    behind = [_is_behind(side) for side in sides]
    compared = side_of(baseline.counted.data), side_of(report.counted.data)
    notes = unlike_steps(*compared, names=("the baseline", "the trace"))
    if any(behind) and any(side.counted.data.verdict.bound == "unknown" for side in sides):
        behind = [False, False]
        notes.append("both on the host: the steps of one trace on the device are unknown")
    steps, before = (_durations_ms(*each) for each in zip(sides, behind, strict=True))
    longer = 100 * (median(steps) / median(before) - 1)
    if longer > 0 and within_noise(before, steps):
        notes.append("each median lies in the range of the other, so it may be noise")
    where = (" on the host", " on the device")[behind[1]] if behind[0] != behind[1] else ""
    base = f"baseline{where} {format_us(1000 * median(before))}, {_spread(before)}"
    what, note = f"change of the {_step(behind[0])}", "; ".join([_spread(steps), base, *notes])
    return Outcome(longer <= limit, what, longer, limit, "%", note=note)


def _is_behind(report: Report) -> bool:
    return schema.is_behind(report.counted.data)


def _step(behind: bool) -> str:
    """What is timed: steps on the device, where they take longer there than on the host."""
    return "median step on the device" if behind else "median step"


def _durations_ms(report: Report, behind: bool) -> list[float]:
    data = report.counted.data
    rows = data.breakdown if behind and data.breakdown else data.steps
    found = [row.duration_us / 1000 for row in rows]
    if not data.per_step.marked or not found or not all(found):
        raise UsageError(
            f"{data.trace.path}: no steps are marked; give the profiler a schedule, and call its "
            "step() at the end of each"
        )
    return found


def _spread(steps: list[float]) -> str:
    count = format_count(len(steps), "recorded step")
    return f"{count} of {format_us(1000 * min(steps))} to {format_us(1000 * max(steps))}"


# The limits that `hookview check` checks a run of many ranks against.


def rank_wait_percent(run: schema.Run, limit: float) -> Outcome:
    """Share of the mean step that the ranks wait for each other, mean of the ranks, in percent.

    Raises:
        UsageError: nothing was matched, a trace cannot be read, or shows no collective.
    """
    _need_all(run)
    rows = [row for row in run.ranks if row.step_us and row.wait_us is not None]
    steps = sum(row.step_us or 0.0 for row in rows)
    if not steps:
        raise UsageError(f"{run.path}: no measured step with a matched collective")
    value = 100 * sum(row.wait_us or 0.0 for row in rows) / steps
    return _outcome_of_run(run, "ranks wait for others", value, limit, "%")


def stragglers(run: schema.Run, limit: float) -> Outcome:
    """Number of ranks that are late in most steps, each with those before it fixed.

    Raises:
        UsageError: nothing was matched, a trace cannot be read or shows no collective, or there
            are too few steps to say whether one more rank is a straggler.
    """
    _need_all(run)
    sure = sum(row.sure for row in run.stragglers)
    doubted = [row.rank for row in run.stragglers if not row.sure]
    doubted += [] if run.suspect is None or run.suspect in doubted else [run.suspect]
    if sure <= limit < sure + len(doubted):
        suspect = f"rank {doubted[0]} may be a straggler, in too few steps to rule out chance"
        raise UsageError(f"{run.path}: {suspect}")
    return _outcome_of_run(run, "stragglers", len(run.stragglers), limit, "")


RUN_LIMITS: dict[str, Callable[[schema.Run, float], Outcome]] = {
    "max_rank_wait_percent": rank_wait_percent,
    "max_stragglers": stragglers,
}
"""Limits of a run, by the names of their options."""


def _need_all(run: schema.Run) -> None:
    if run.unreadable:
        first = run.unreadable[0]
        rest = f", and {len(run.unreadable) - 1} more" if len(run.unreadable) > 1 else ""
        raise UsageError(f"{run.path}: {first.path}: {first.reason}{rest}")
    if all(row.wait_us is None for row in run.ranks) and not run.collectives:
        ranks = format_count(len(run.ranks), "rank")
        raise UsageError(f"{run.path}: {ranks} and no collective matched")
    lacking = [row for row in run.ranks if row.step_us and row.communication_us is None]
    if lacking:
        more = f", nor do {len(lacking) - 1} more" if len(lacking) > 1 else ""
        raise UsageError(f"{run.path}: rank {lacking[0].rank} shows no collective{more}")


def _outcome_of_run(run: schema.Run, what: str, value: float, limit: float, unit: str) -> Outcome:
    late = [
        f"rank {row.rank}, {place_text(row.reasons[0]) if row.reasons else 'unknown'}, costs "
        f"{format_us(row.gain_us_per_step)} {format_per(run.marked)}"
        for row in run.stragglers
    ]
    missing = format_count(len(run.missing_ranks), "rank")
    notes = [f"stragglers: {'; '.join(late)}"] if late else []
    notes += [f"no trace of {missing}"] if run.missing_ranks else []
    return Outcome(value <= limit, what, value, limit, unit, note="; ".join(notes))


# The limits that `hookview check` checks a watched training run against.


def slow_steps_percent(said: schema.History, limit: float) -> Outcome:
    """Share of the measured steps that were slow, in percent.

    Raises:
        UsageError: no step was measured.
    """
    measured = max((rank.measured_steps for rank in said.ranks), default=0)
    if not measured:
        raise UsageError(f"{said.path}: no step was measured")
    value = 100 * said.slow_steps_total / measured
    where = [
        f"{_steps(row)}, {_cause(row.causes[0]) if row.causes else 'unknown'}"
        for row in said.slow_steps[:3]
    ]
    return Outcome(value <= limit, "slow steps", value, limit, "%", note="; ".join(where))


def _steps(row: schema.SlowSteps) -> str:
    return f"step {row.first}" if row.first == row.last else f"steps {row.first} to {row.last}"


def slow_ranks(said: schema.History, limit: float) -> Outcome:
    """Number of ranks that need longer than the others, all the time.

    Raises:
        UsageError: the training has steps of one rank only.
    """
    if len(said.ranks) < 2:
        raise UsageError(f"{said.path}: steps of one rank, so no ranks to compare")
    value = len({row.rank for row in said.slow_ranks})
    where = [f"rank {row.rank}, {_cause(row)}" for row in said.slow_ranks]
    return Outcome(value <= limit, "slow ranks", value, limit, "", note="; ".join(where))


HISTORY_LIMITS: dict[str, Callable[[schema.History, float], Outcome]] = {
    "max_slow_steps_percent": slow_steps_percent,
    "max_slow_ranks": slow_ranks,
}
"""Limits of a watched training run, by the names of their options."""


def _cause(row: schema.Cause | schema.SlowRank) -> str:
    return row.part if row.block is None else f"{row.part} of {schema.module_label(row.block)}"
