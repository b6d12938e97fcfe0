"""The tables of a summary, as text."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec.structs import asdict

from tb_hookview.document.document import Row, Table
from tb_hookview.formats import (
    MISSING,
    format_kernel,
    format_kind,
    format_number,
    format_share,
    format_step,
    format_us,
)
from tb_hookview.report.summary.modules import module_table
from tb_hookview.schema import (
    PROFILER,
    SHOWN_PHASES,
    Finding,
    PerStep,
    ReportData,
    Step,
    Sync,
    may_cost,
    module_label,
)

_NUMBER = re.compile(r"[0-9]+")


def alike(findings: Iterable[Finding]) -> list[list[Finding]]:
    """Findings together that are alike, in the order of the first of each."""
    groups: defaultdict[tuple[str, str, str], list[Finding]] = defaultdict(list)
    for finding in findings:
        groups[finding.rule, finding.fix, _NUMBER.sub("#", finding.where)].append(finding)
    return list(groups.values())


def where(group: list[Finding]) -> str:
    """Place of the first, and how many more there are; a module that is a number is called one."""
    first, *more = group
    is_number = first.module is not None and first.module[:1].isdigit()
    place = f"module {first.where}" if is_number else first.where
    return f"{place}, and {len(more):,} more like it; figures are of the first" if more else place


FINDINGS = 5
"""Findings shown, the most expensive first."""
_ORIGINS = {
    "recorder": "modules, by hookview",
    "lightning": "modules, by Lightning",
    "python_stack": "modules, by labels of Python stacks",
    "annotation": "annotations, no module",
}


def detail_tables(data: ReportData, counted: ReportData, rows: int) -> list[Table]:
    """Return the tables of the details, with at most `rows` rows each.

    Args:
        data: the report.
        counted: that on the measured steps.
        rows: rows of a table.
    """
    return [
        _steps(data).cut(rows),
        _devices(data).cut(rows),
        module_table(counted, rows),
        operator_table(counted, rows),
        _syncs(data).cut(rows),
        _threads(data).cut(rows),
        _coverage(counted).cut(rows),
    ]


def _steps(data: ReportData) -> Table:
    """Every step, after their mean where there are several."""
    means = data.per_step
    rows: list[Row] = [
        (step.name, *(["yes" if step.counts else "no"] if means.marked else []), *_host_times(step))
        for step in data.steps
    ]
    if len(data.steps) > 1:
        rows.insert(0, ("mean", f"of {means.steps:,}", *_host_times(means)))
    counts = ["in means"] if means.marked else []
    columns = (format_step(means.marked), *counts, "duration", *SHOWN_PHASES, "host blocked")
    return Table("Host time by phase", columns, rows)


def _host_times(of: Step | PerStep) -> Iterator[str]:
    times = (of.duration_us, *(getattr(of, f"{phase}_us") for phase in SHOWN_PHASES))
    return map(format_us, (*times, of.sync_blocked_us))


def _devices(data: ReportData) -> Table:
    """What the devices did in every step: time in use, idle time by cause, sum of events."""
    parts: list[tuple[str, Step | PerStep]] = [(step.name, step) for step in data.steps]
    if len(parts) > 1:
        parts.insert(0, ("mean", data.per_step))
    idle = [asdict(part.idle) for _, part in parts if part.idle]
    causes = tuple(dict.fromkeys(cause for found in idle for cause, us in found.items() if us))
    before = any(step.launched_before_us for step in data.steps)
    name = format_step(data.per_step.marked)
    columns = (name, "busy", "idle", *(cause.replace("_", " ") for cause in causes))
    columns = (*columns, "events", *(["launched before"] if before else []))
    known = any(part.device_busy_us is not None for _, part in parts)
    rows = [_device(name, part, causes, before) for name, part in parts] if known else []
    title = "Devices (busy, and idle by cause; events: those the {} launched, sum over streams)"
    return Table(title.format(name), columns, rows)


def _device(name: str, of: Step | PerStep, causes: Sequence[str], before: bool) -> Row:
    idle = asdict(of.idle) if of.idle else {}
    times = [of.device_busy_us, of.device_idle_us, *map(idle.get, causes), of.device_us]
    early = [format_us(of.launched_before_us) if isinstance(of, Step) else ""]
    return (name, *map(format_us, times), *(early if before else []))


def kernel_table(counted: ReportData, rows: int) -> Table:
    """Device events by name and time, per step.

    Args:
        counted: the report on the measured steps.
        rows: rows of the table.
    """
    ranked = sorted(counted.kernels, key=lambda row: row.total_us, reverse=True)
    whole = sum((counted.totals.device_us_by_kind or {}).values())
    steps = max(counted.per_step.steps, 1)
    made = [
        (
            format_kernel(row.name),
            format_kind(row.kind),
            format_us(row.total_us / steps),
            format_share(row.total_us, whole),
            format_number(row.count / steps),
        )
        for row in ranked[:rows]
    ]
    columns = ("kernel", "kind", f"time{per(counted)}", "share", f"calls{per(counted)}")
    return Table("Kernels by time", columns, list(made), names=2)


def operator_table(data: ReportData, rows: int) -> Table:
    """Operators of a trace without device events by self time, per step.

    Args:
        data: the report on the measured steps.
        rows: rows of the table.
    """
    found = [] if data.totals.device_busy_us else data.operators
    ranked = sorted(found, key=lambda row: row.self_host_us, reverse=True)
    whole, steps = sum(row.self_host_us for row in ranked), max(data.per_step.steps, 1)
    made: list[Row] = [
        (
            row.name,
            format_us(row.self_host_us / steps),
            format_share(row.self_host_us, whole),
            format_us(row.host_us / steps),
            format_number(row.calls / steps),
        )
        for row in ranked[:rows]
        if row.self_host_us
    ]
    title = f"Operators and annotations by self time (host, sum over threads, {data.per_step.text})"
    columns = ("operator", "self", "share", "incl. children", "calls")
    return Table(title, columns, made, hidden=data.device_advice or "")


def _syncs(data: ReportData) -> Table:
    """Syncs by cause and place; sums and, where steps are marked, means of the measured ones."""
    groups: defaultdict[tuple[str, str, str, str], list[Sync]] = defaultdict(list)
    for sync in data.syncs:
        where = MISSING if sync.module is None else module_label(sync.module)
        groups[sync.cause, sync.operator or sync.api, sync.phase, where].append(sync)
    ranked = sorted(
        groups.items(), key=lambda group: (group[0][0] == PROFILER, -_blocked(group[1]))
    )
    marked = data.per_step.marked
    columns = ("cause", "operator or call", "phase", "module", "count", "host blocked")
    means = ("count/step", "blocked/step") if marked else ()
    counting = frozenset(step.id for step in data.steps if step.counts)
    return Table(
        f"Syncs (the host waits for the device; sums{', and means per step' if marked else ''})",
        (*columns, "device idle", *means),
        [
            (*_sync_sums(key, syncs), *(_sync_means(syncs, counting) if marked else ()))
            for key, syncs in ranked
        ],
        names=4,
        highlighted=frozenset(at for at, (key, _) in enumerate(ranked) if key[2] == "backward"),
    )


def _sync_sums(key: tuple[str, str, str, str], syncs: Sequence[Sync]) -> Row:
    idle = _sum_known(sync.device_idle_us for sync in syncs)
    return (*key, format_number(len(syncs)), format_us(_blocked(syncs)), format_us(idle))


def _sync_means(syncs: Sequence[Sync], counting: frozenset[int]) -> Row:
    if syncs[0].cause == PROFILER:
        return ("not counted", "")
    mine = [sync for sync in syncs if sync.step_id in counting]
    by = max(len(counting), 1)
    return (format_number(len(mine) / by), format_us(_blocked(mine) / by))


def _blocked(syncs: Iterable[Sync]) -> float:
    return sum(sync.duration_us for sync in syncs)


def _sum_known(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _threads(data: ReportData) -> Table:
    """The host threads where there are several; the steps cover one alone."""
    rows: list[Row] = []
    for thread in data.threads:
        times = [thread.by_phase.get(phase) for phase in SHOWN_PHASES]
        written = [format_us(us) if us else "" for us in (*times, thread.blocked_us)]
        rows.append((thread.thread, thread.role, format_us(thread.busy_us), *written))
    columns = ("thread", "role", "busy", *SHOWN_PHASES, "host blocked")
    title = "Threads (host time, sums)"
    return Table(title, columns, rows if len(rows) > 1 else [], names=2)


def _coverage(data: ReportData) -> Table:
    coverage, steps = data.coverage, max(data.per_step.steps, 1)
    device = coverage.measure == "device"
    whole = coverage.backward_device_us if device else coverage.backward_host_us
    missing = coverage.unattributed_us if device else coverage.unattributed_host_us

    def row(name: str, us: float | None) -> tuple[str, str, str]:
        return (name, format_us(None if us is None else us / steps), format_share(us, whole))

    rows: list[Row] = [row(*part) for part in _largest(coverage.by_evidence)]
    rows += [row(f"  of it {_ORIGINS[origin]}", us) for origin, us in _largest(coverage.by_origin)]
    rows.append(row("not attributed", missing))
    reasons = _largest(coverage.unattributed_by_reason)
    rows += [row(f"  {reason}", us) for reason, us in reasons]
    title = f"Backward {coverage.measure} time by evidence ({_each(data)})"
    at = frozenset([len(rows) - len(reasons) - 1]) if missing else frozenset[int]()
    columns = ("evidence", "time", "share")
    return Table(title, columns, rows if whole else [], highlighted=at)


def _largest(parts: dict[str, float]) -> list[tuple[str, float]]:
    return sorted(((k, v) for k, v in parts.items() if v), key=lambda item: -item[1])


def finding_table(data: ReportData, rows: int) -> Table:
    """The most expensive findings; those left out and those without a cost are counted."""
    rows = min(rows, FINDINGS)
    costly = [each for each in data.findings if may_cost(each)]
    latent = len(data.findings) - len(costly)
    groups = alike(costly)
    firsts = [group[0] for group in groups[:rows]]
    left = [_left([each for group in groups[rows:] for each in group])] if groups[rows:] else []
    left += [f"{latent:,} without a cost in this trace"] if latent else []
    hidden = [f"{' and '.join(left)}; the report has them all"] if left else []
    columns = ("severity", "finding", "cost", "saves")
    caveats = Counter(caveat for finding in firsts for caveat in finding.caveats)
    common = {caveat for caveat, count in caveats.items() if count > 1}
    shown = [_finding(group, common) for group in groups[:rows]]
    of_several = [f"several findings: {caveat}" for caveat in caveats if caveat in common]
    title = f"Findings ({_each(data)})"
    left_out = " ".join([*of_several, *hidden])
    return Table(title, columns, shown, names=2, hidden=left_out, wrapped=1)


def _left(findings: Sequence[Finding]) -> str:
    """How many are not shown, and which of them costs most."""
    most = max(findings, key=lambda finding: finding.cost_us_per_step or 0.0)
    return f"{len(findings):,} more (up to {cost(most)}, {most.rule})"


def per(data: ReportData) -> str:
    """What follows the name of a column of means."""
    return "/step" if data.per_step.marked else ""


def _each(data: ReportData) -> str:
    """What a mean is of."""
    return f"per step, {data.per_step.text}" if data.per_step.marked else "of the whole trace"


def _finding(group: list[Finding], common: Collection[str]) -> Row:
    """The first of findings that are alike."""
    finding = group[0]
    return (
        finding.severity,
        (
            finding.title,
            where(group),
            f"{finding.evidence}.",
            *(caveat for caveat in finding.caveats if caveat not in common),
            f"{finding.fix} ({finding.rule})",
        ),
        cost(finding),
        saving(finding),
    )


def saving(finding: Finding) -> str:
    """What a finding is ordered by: its gain, or an estimate of that later."""
    now = " now" if finding.saves_after else ""
    if finding.gain_is_estimated:
        return f"{format_us(finding.unrecorded_gain_us_per_step)} est.{now}"
    return f"{format_us(finding.gain_us_per_step)}{now}"


def cost(finding: Finding) -> str:
    """Cost per step, or what is spent once."""
    if finding.once_us is not None:
        return f"{format_us(finding.once_us)} once"
    return format_us(finding.cost_us_per_step)
