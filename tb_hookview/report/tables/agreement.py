"""Figures of a report that contradict it: taken out, and reported as a bug of this program.

What cannot be, whatever the trace holds: shares above the whole, gains above the step, parts that
do not add up to their sum. Each check costs a walk over one table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from msgspec.structs import replace

from tb_hookview.schema import ReportData

ROUNDING_US = 1e-3
"""Sums of exact nanoseconds, each divided into microseconds, are off by far less."""
ROUNDING = 1e-9
"""The same as a share, for times so long that a float holds no nanosecond of them."""
CONTRADICTED = "the replay gains more than a step takes"

_SHARES = (
    ("operators", "peak_share", 1.0),
    ("kernels", "occupancy_pct", 100.0),
    ("devices", "utilization", 1.0),
    ("devices", "sm_efficiency", 1.0),
    ("devices", "occupancy_pct", 100.0),
)


class Contradiction(NamedTuple):
    """Figures that cannot be."""

    what: str
    """Table and field, as in "operators.peak_share"."""
    times: int
    """How many rows have one."""


def without_contradictions(data: ReportData) -> tuple[ReportData, list[Contradiction]]:
    """Take out the figures that contradict the report, where they are no sums of other tables.

    Returns:
        The report without them, and what was found.
    """
    found: list[Contradiction] = []
    for table, field, most in _SHARES:
        data = _cleared(data, table, field, _outside(field, most), found)
    data = _gains(data, found)
    found += (Contradiction(what, count) for what, count in _sums(data) if count)
    return data, found


def _outside(field: str, most: float) -> Callable[[Any], bool]:
    def outside(row: Any) -> bool:
        value = getattr(row, field)
        return value is not None and not 0 <= value <= most * (1 + ROUNDING)

    return outside


def _cleared(
    data: ReportData,
    table: str,
    field: str,
    wrong: Callable[[Any], bool],
    found: list[Contradiction],
) -> ReportData:
    """The report with null for a field where it is wrong."""
    rows = getattr(data, table)
    count = sum(map(wrong, rows))
    if not count:
        return data
    found.append(Contradiction(f"{table}.{field}", count))
    rows = [replace(row, **{field: None}) if wrong(row) else row for row in rows]
    return replace(data, **{table: rows})


def _gains(data: ReportData, found: list[Contradiction]) -> ReportData:
    """The report without gains that are longer than a step."""
    steps = data.steps
    longest = max((step.duration_us for step in steps), default=0.0)
    most = _up(max(longest, data.trace.duration_us / max(len(steps), 1)))

    def wrong(row: Any) -> bool:
        gain = row.gain_us_per_step
        return gain is not None and not 0 <= gain <= most

    cleared = _cleared(data, "findings", "gain_us_per_step", wrong, found)
    findings = [
        replace(row, gain_unknown=CONTRADICTED) if wrong(before) else row
        for row, before in zip(cleared.findings, data.findings, strict=True)
    ]
    return replace(cleared, findings=findings)


def _sums(data: ReportData) -> Iterator[tuple[str, int]]:
    """Sums that differ from what they are sums of, and how many."""
    coverage, totals = data.coverage, data.totals
    yield "steps", sum(not _equal(step.duration_us, _phases(step)) for step in data.steps)
    idle = (step for step in data.steps if step.idle is not None)
    yield "steps.idle", sum(not _equal(s.device_idle_us or 0.0, _total(s.idle)) for s in idle)
    yield (
        "totals.sync_blocked_us",
        not _equal(totals.sync_blocked_us, sum(sync.duration_us for sync in data.syncs)),
    )
    modules = sum(module.backward.self_host_us or 0.0 for module in data.modules)
    host = modules + coverage.unattributed_host_us
    yield "coverage.backward_host_us", not _equal(coverage.backward_host_us, host)
    if coverage.backward_device_us is not None:
        modules = sum(module.backward.self_device_us or 0.0 for module in data.modules)
        device = modules + (coverage.unattributed_us or 0.0)
        yield "coverage.backward_device_us", not _equal(coverage.backward_device_us, device)
    yield "devices.busy_us", sum(row.busy_us > _up(row.span_us) for row in data.devices)


def _phases(step: Any) -> float:
    named = (step.forward_us, step.backward_us, step.optimizer_us, step.data_us)
    return float(sum(phase or 0.0 for phase in named) + step.other_us)


def _total(row: Any) -> float:
    return float(sum(getattr(row, name) for name in row.__struct_fields__))


def _equal(one: float, other: float) -> bool:
    return abs(one - other) <= max(ROUNDING_US, ROUNDING * abs(one))


def _up(value: float) -> float:
    return value + max(ROUNDING_US, ROUNDING * abs(value))
