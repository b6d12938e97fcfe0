"""Answers about an analyzed trace: its report, modules, memory, and what changed to another."""

from __future__ import annotations

from tb_hookview import schema
from tb_hookview.comparison.compare import compare
from tb_hookview.errors import UsageError
from tb_hookview.report.memory import memory_answer
from tb_hookview.report.module.detail import module_bars, module_detail, search_kernels
from tb_hookview.report.open_trace import OpenTrace
from tb_hookview.server.answers import fitting
from tb_hookview.server.parameters import span
from tb_hookview.server.timeline import fitting_window, required_span
from tb_hookview.simulation.questions import parse_factors
from tb_hookview.timeline.replayed import overview

# Replays of a trace with something changed: how long a step takes, and when all happens.


def what_if(
    trace: OpenTrace, *, step: list[str], without: list[str], scale: list[str], modules: str
) -> schema.WhatIf:
    """How long a step would take with something taken out or scaled."""
    return trace.what_ifs(step).answer(without, parse_factors(scale), modules=modules == "1")


def lanes(
    trace: OpenTrace, *, step: list[str], without: list[str], scale: list[str]
) -> schema.TimelineOverview:
    """The lanes of the replayed steps, as recorded and as predicted."""
    return overview(trace.replayed(step, without, parse_factors(scale)))


def window(
    trace: OpenTrace,
    *,
    step: list[str],
    without: list[str],
    scale: list[str],
    start: float,
    end: float,
    width: int,
) -> schema.TimelineWindow:
    """The blocks of a window of these lanes."""
    shown = trace.replayed(step, without, parse_factors(scale))
    return fitting_window(shown, range(len(shown.entries)), *required_span(start, end), width)


def report(trace: OpenTrace, *, step: list[str]) -> schema.ReportData:
    """The report of one trace."""
    return trace.data(step)


def report_rows(trace: OpenTrace, *, step: list[str], table: str, offset: int) -> schema.ReportRows:
    """Rows of a table of the report, where the report leaves some out.

    Raises:
        UsageError: the report has no such table.
    """
    data = trace.data(step)
    rows = getattr(data, table) if table in data.__struct_fields__ else None
    if not isinstance(rows, list):
        raise UsageError(f"table={table[:50]}: not a list of rows of the report")
    some = rows[offset:]
    return schema.ReportRows(table, offset, len(rows), some[: fitting(some)])


def module(trace: OpenTrace, *, path: str, step: list[str]) -> schema.ModuleDetail:
    """One module."""
    return module_detail(trace.analysis, path, step)


def bars(
    trace: OpenTrace, *, path: list[str], measure: str, step: list[str]
) -> dict[str, list[float]]:
    """What the calls of some modules cost over time, in microseconds."""
    return module_bars(trace.analysis, path, measure, step)


def search(trace: OpenTrace, *, q: str, step: list[str]) -> schema.KernelSearch:
    """The modules whose kernels have a text in their names."""
    return search_kernels(trace.analysis, q, step)


POINTS = 2000
"""Points of a curve, without `points`."""
MOST_POINTS = 5000


def memory(
    trace: OpenTrace,
    *,
    step: list[str],
    device: str | None,
    start: float | None,
    end: float | None,
    points: int,
) -> schema.MemoryAnswer:
    """Memory of a device: peaks, modules at the peak, and the curve of a window."""
    window = span(start, end)
    return memory_answer(trace.steps(step), device, window, points)


def compared(
    base: OpenTrace, other: OpenTrace, *, step: list[str], other_step: list[str]
) -> schema.Compared:
    """What changed between two traces."""
    return schema.Compared(
        comparison=compare(
            base.data(step or [schema.COUNTED]), other.data(other_step or [schema.COUNTED])
        ),
        base_steps=[each.name for each in base.data().steps],
        other_steps=[each.name for each in other.data().steps],
    )
