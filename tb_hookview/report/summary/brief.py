"""A summary in short, and the whole of it in the one order that all of its forms have."""

from __future__ import annotations

import re

from msgspec.structs import replace

from tb_hookview import schema
from tb_hookview.document.document import Document, Lines, Row, Table
from tb_hookview.formats import (
    format_count,
    format_kind,
    format_number,
    format_share,
    format_step,
    format_us,
)
from tb_hookview.report.summary.lines import detail_lines, host_line
from tb_hookview.report.summary.modules import class_rows
from tb_hookview.report.summary.tables import (
    alike,
    detail_tables,
    finding_table,
    kernel_table,
    operator_table,
    per,
    saving,
    where,
)

FINDINGS, CLASSES, PARTS = 3, 3, 3
"""Findings, classes of modules, and parts of the critical path that are named."""
VERDICT = 1
"""Number of the line that matters most."""
_LONGER = 0.005
"""Share of the step on the host's clock by which the whole one is longer, to be given, too."""
_NAMES = re.compile("[^a-z -]")
"""In a place that names something, as "the whole step" does not."""
_WORTH_SAYING = 0.01
"""Share of the step that the first finding saves at least, to be worth a line."""
_NOT_NAMED = (
    "of what the trace does not name only long gaps that recur from step to step are findings: "
    "record more steps, and with_stack=True to name it"
)
_NOTHING = "no finding saves 0.5% of the time or more"
_UNKNOWN = "no finding: most rules need what the device did"


def brief_document(data: schema.ReportData, counted: schema.ReportData, more: str = "") -> Document:
    """What decides a step, the first findings, and the classes with the longest self time.

    Args:
        data: the report.
        counted: that on the measured steps.
        more: where the rest is.
    """
    classes = class_table(counted)
    findings = _findings(data)
    parts = (
        Lines(brief_lines(data), bold=VERDICT),
        findings if findings.rows else Lines([_UNKNOWN if _lacks_device(data) else _NOTHING]),
        _headed(classes),
        Lines(_notes(data, more), tone="dim"),
    )
    return Document("Summary of a trace", parts)


def _lacks_device(data: schema.ReportData) -> bool:
    """Whether nothing shows what a device did, or that the model runs on the CPU."""
    return data.device_advice is not None and data.verdict.bound == "unknown"


def _headed(table: Table) -> Table:
    """The table with its title, in short, in the place of the first column's name."""
    title, *_ = table.title.split(" (")
    return replace(
        table, title="", columns=(title, *table.columns[1:]), hidden="", wrapped=-1, cropped=True
    )


def brief_lines(data: schema.ReportData) -> list[str]:
    """What decides a step, what that consists of, how long it is, what the first finding saves."""
    means = data.per_step
    verdict = data.verdict
    lines = [data.trace.path, verdict.sentence, *filter(None, [verdict.unrecorded_sentence])]
    if data.critical_path_work and not _lacks_device(data):
        lines.append(_path(data))
    elif (means.other_us or 0.0) < (means.duration_us or 0.0):
        lines.append(host_line(means))
    busy, idle = means.device_busy_us, means.device_idle_us
    step = f"{format_step(means.marked)} {format_us(means.duration_us)} on the host"
    step += f"{_whole(data)} ({means.text if means.marked else 'it marks no steps'})"
    if busy is not None and idle is not None:
        step += f"; device busy {format_share(busy, busy + idle)}"
    return [*lines, f"{step}{_without_first(data)}"]


def _without_first(data: schema.ReportData) -> str:
    step, first = data.verdict.step_us, data.findings[0] if data.findings else None
    gain = None if first is None else first.gain_us_per_step
    if first is None or first.negligible or not step or not gain or gain < _WORTH_SAYING * step:
        return ""
    if data.verdict.bound == "unknown":
        return "; savings are uncertain because of that"
    recorded = ", as recorded" if first.gain_is_estimated else ""
    return f"; {format_us(round(_replayed(data) - gain, 3))} without the first finding{recorded}"


def _replayed(data: schema.ReportData) -> float:
    """The step in the replay that the verdict and savings are about."""
    return sum(row.us for row in data.critical_path_work) or data.verdict.step_us or 0.0


def _whole(data: schema.ReportData) -> str:
    """The step as recorded, where it is longer than on the host's clock, or shorter, as where
    nothing more runs in the last part of a trace; and that of savings, where its replay is off."""
    host, step = data.per_step.duration_us or 0.0, data.verdict.step_us or 0.0
    replayed = _replayed(data)
    lengths = [(step, host, _which(data, step)), (replayed, step or host, "replayed")]
    return "".join(
        f", {format_us(us)} {which}"
        for us, other, which in lengths
        if us and abs(us - other) > _LONGER * other and format_us(us) != format_us(other)
    )


def _which(data: schema.ReportData, step: float) -> str:
    """What makes a step another length than on the host's clock."""
    if step < (data.per_step.duration_us or 0.0):
        return "of it replayed"
    if schema.is_behind(data):
        return "on the device"
    counted = [row for row in data.steps if row.counts]
    by_host = data.verdict.device_us is None
    if counted and not by_host:
        first, last = counted[0], counted[-1]
        length = last.start_us + last.duration_us - first.start_us
        by_host = len(counted) * step <= (1 + _LONGER) * length
    return "with the gap to the next" if by_host else "until the device finishes"


def _path(data: schema.ReportData) -> str:
    """The critical path, without work outside of the trace that is most of it."""
    work, title = data.critical_path_work, "critical path"
    if any(warning.code == "unseen-queue" for warning in data.trace.warnings):
        recorded = [row for row in work if row.part != "unexplained"]
        if 0 < 2 * sum(row.us for row in recorded) < sum(row.us for row in work):
            work, title = recorded, "critical path of recorded work"
    whole = sum(row.us for row in work)
    named = [f"{_what(row)} {format_share(row.us, whole)}" for row in work[:PARTS]]
    rest = sum(row.us for row in work[PARTS:])
    shares = [*named, *([f"rest {format_share(rest, whole)}"] if rest else [])]
    return f"{title}: {', '.join(shares)}"


def _what(row: schema.PathWork) -> str:
    if row.part == "wait":
        return "latencies"
    if row.part not in ("host", "device"):
        return "data loading" if row.part == "data" else row.part
    name = format_kind(row.name) if row.name and row.part == "device" else row.name
    what = (" in " if row.part == "host" else " ").join(filter(None, (row.phase, name)))
    return f"{row.part} {what or 'not named in the trace'}"


def class_table(counted: schema.ReportData) -> Table:
    """The classes of modules with the longest self time; where modules have next to none of it,
    kernels or operators."""
    found = class_rows(counted, CLASSES)
    if found.rows:
        return found
    kernels = kernel_table(counted, CLASSES)
    return kernels if kernels.rows else operator_table(counted, CLASSES)


def _notes(data: schema.ReportData, more: str) -> list[str]:
    """What makes figures wrong, in short; advice; of how many ranks it is, and where `more` is."""
    severe = schema.severe_warnings(data.trace)
    others, ranks = len(data.trace.warnings) - len(severe), data.trace.world_size or 1
    lines = [f"warning: {schema.in_short(warning)}" for warning in severe]
    last = [
        f"1 of {ranks} ranks (see hookview ranks)" if ranks > 1 else "",
        format_count(others, "data-quality note") if others else "",
        more,
    ]
    advice = data.device_advice or ""
    return [*filter(None, (*lines, _unnamed(data), advice, "; ".join(filter(None, last))))]


def _unnamed(data: schema.ReportData) -> str:
    """Why time without rows is in no finding, where it is most of the critical path."""
    work = data.critical_path_work
    us = sum(row.us for row in work if row.part == "host" and not (row.name or row.phase))
    saved = sum(finding.gain_us_per_step or 0.0 for finding in data.findings)
    return _NOT_NAMED if 2 * us > sum(row.us for row in work) and 2 * saved < us else ""


def _findings(data: schema.ReportData) -> Table:
    shown: dict[str, schema.Finding] = {}
    for group in alike(each for each in data.findings if not each.negligible):
        shown.setdefault(_headline(group), group[0])
    first = list(shown.items())[:FINDINGS]
    fixes = [finding.fix for _, finding in first]
    rows: list[Row] = [
        (saving(finding), (headline,) if finding.fix in fixes[:at] else (headline, finding.fix))
        for at, (headline, finding) in enumerate(first)
    ]
    columns = (f"saves{per(data)}", "finding")
    return Table("", columns, rows, names=2, wrapped=1, cropped=True)


def _headline(group: list[schema.Finding]) -> str:
    """What it is and, where that says more, its place."""
    finding, place = group[0], where(group).removeprefix("not in a module, ")
    named = finding.module is not None or _NAMES.search(place)
    return f"{finding.title}: {place}" if named else finding.title


def whole_document(data: schema.ReportData, counted: schema.ReportData, rows: int) -> Document:
    """Return all that a summary says: verdict, findings, classes of modules, then all else.

    Args:
        data: the report.
        counted: that on the measured steps.
        rows: rows of a table.
    """
    severe = schema.severe_warnings(data.trace)
    head = [*brief_lines(data), *(f"warning: {warning.message}" for warning in severe)]
    notes = [_note(warning) for warning in data.trace.warnings if warning not in severe]
    parts: tuple[Lines | Table, ...] = (
        Lines(head, bold=VERDICT),
        finding_table(data, rows),
        class_table(counted),
        Lines([line for line in detail_lines(data) if line not in head], "Details"),
        *detail_tables(data, counted, rows),
        Lines(notes, "Notes on the data", tone="warning"),
    )
    return Document("Summary of a trace", parts)


def _note(warning: schema.TraceWarning) -> str:
    times = f" ({format_number(warning.count)})" if warning.count > 1 else ""
    return f"warning: {warning.message}{times}"
