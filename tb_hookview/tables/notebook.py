"""A report and its tables as self-contained HTML for notebooks.

Every name comes out of a trace, so all text is escaped, cut to a length, and keeps its writing
direction to itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from operator import itemgetter
from typing import Any

import msgspec

from tb_hookview.schema import Finding, Module, Recording, ReportData, Sync, module_label

ROWS = 10
"""Rows of each table of a report."""
TABLE_ROWS = 20
"""Rows of a table by itself."""
LONGEST = 120
"""Characters of a text."""
NOTHING = "\N{EN DASH}"

_CELL = "padding:2px 8px;text-align:{};white-space:nowrap;font-variant-numeric:tabular-nums"
_Column = tuple[str, Callable[[Any], Any]]


def report_html(report: ReportData) -> str:
    """Show the most expensive modules, syncs and findings of a report."""
    parts = [_heading(report), _modules(report), _syncs(report), _findings(report)]
    return f"<div>{''.join(parts)}</div>"


def columns_html(columns: Mapping[str, Sequence[Any]], of: str, total: int) -> str:
    """Show the first rows of a table's columns; `total` counts all rows."""
    rows = list(zip(*columns.values(), strict=True))
    picked: list[_Column] = [(name, itemgetter(at)) for at, name in enumerate(columns)]
    return _table(f"{total:,} {of}", picked, rows, TABLE_ROWS, total)


def _heading(report: ReportData) -> str:
    trace, totals = report.trace, report.totals
    device = report.coverage.measure == "device"
    backward = totals.backward_device_us if device else report.coverage.backward_host_us
    facts = [
        _counted(trace.events, "event"),
        f"{_counted(len(report.steps), 'step')} of {_duration(_mean_step(report))}",
        f"backward {_duration(backward)} on the {'device' if device else 'host'}",
        f"{_counted(totals.sync_count, 'sync')}, {_duration(totals.sync_blocked_us)}",
    ]
    lines = [trace.path, " · ".join(facts), *_recording(trace.recording)]
    first, *others = map(_text, lines)
    return f"<div><strong>{first}</strong><br>{'<br>'.join(others)}</div>"


def _recording(recording: Recording | None) -> list[str]:
    if recording is None or recording.slowdown is None:
        return []
    recorded = _duration(recording.recorded_step_us)
    unrecorded = _duration(recording.unrecorded_step_us)
    return [f"a step took {recorded} recorded, {unrecorded} not ({recording.slowdown:.2f}x)"]


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _mean_step(report: ReportData) -> float | None:
    return sum(step.duration_us for step in report.steps) / max(1, len(report.steps))


def _modules(report: ReportData) -> str:
    device = report.coverage.measure == "device"

    def own(module: Module) -> float | None:
        work = module.backward
        return work.self_device_us if device else work.self_host_us

    columns: list[_Column] = [
        ("module", lambda row: module_label(row.path)),
        ("class", lambda row: row.module_class),
        ("calls", lambda row: row.calls),
        ("backward, self", lambda row: _Time(own(row))),
        (
            "backward, total",
            lambda row: _Time(row.backward.device_us if device else row.backward.host_us),
        ),
        (
            "forward, total",
            lambda row: _Time(row.forward.device_us if device else row.forward.host_us),
        ),
        ("syncs", lambda row: row.sync.count),
        ("host blocked", lambda row: _Time(row.sync.blocked_us)),
    ]
    expensive = sorted(report.modules, key=lambda row: own(row) or 0.0, reverse=True)
    return _table("Modules, by their own backward", columns, expensive, ROWS)


def _syncs(report: ReportData) -> str:
    columns: list[_Column] = [
        ("call", lambda row: row.api),
        ("host blocked", lambda row: _Time(row.duration_us)),
        ("device idle caused", lambda row: _Time(row.device_idle_us)),
        ("cause", lambda row: row.cause),
        ("phase", lambda row: row.phase),
        ("module", lambda row: None if row.module is None else module_label(row.module)),
        ("operator", lambda row: row.operator),
    ]
    longest: list[Sync] = sorted(report.syncs, key=lambda row: row.duration_us, reverse=True)
    return _table("Syncs, longest first", columns, longest, ROWS)


def _findings(report: ReportData) -> str:
    columns: list[_Column] = [
        ("finding", lambda row: row.title),
        ("where", lambda row: row.where),
        ("severity", lambda row: row.severity),
        ("cost a step", lambda row: _Time(row.cost_us_per_step)),
        ("gain a step, at most", lambda row: _Time(row.gain_us_per_step)),
        ("fix", lambda row: row.fix),
    ]
    findings: list[Finding] = report.findings
    return _table("Findings, most expensive first", columns, findings, ROWS)


def _table(
    title: str, columns: Sequence[_Column], rows: Sequence[Any], most: int, total: int | None = None
) -> str:
    shown = [[pick(row) for _, pick in columns] for row in rows[:most]]
    left_out = (len(rows) if total is None else total) - len(shown)
    more = f" · {left_out:,} more" if left_out else ""
    first = shown[0] if shown else [None] * len(columns)
    head = "".join(_cell("th", name, of) for (name, _), of in zip(columns, first, strict=True))
    body = "".join(f"<tr>{''.join(_cell('td', v, v) for v in row)}</tr>" for row in shown)
    caption = f'<caption style="text-align:left;font-weight:bold">{_text(title + more)}</caption>'
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


class _Time:
    """Microseconds, or None where they are not known."""

    def __init__(self, us: float | None) -> None:
        self.us = us


def _cell(tag: str, value: Any, aligned_as: Any) -> str:
    right = isinstance(aligned_as, int | float | _Time) and not isinstance(aligned_as, bool)
    style = _CELL.format("right" if right else "left")
    return f'<{tag} style="{style}">{_text(_written(value))}</{tag}>'


def _written(value: Any) -> str:
    if value is None:
        return NOTHING
    if isinstance(value, _Time):
        return _duration(value.us)
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) else msgspec.json.encode(value).decode()


def _text(text: str) -> str:
    cut = text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text):,} characters)"
    return f"<bdi>{escape(cut)}</bdi>"


def _duration(us: float | None) -> str:
    if us is None:
        return NOTHING
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if abs(us) >= size:
            return f"{us / size:.2f} {unit}"
    return f"{us:.1f} us"
