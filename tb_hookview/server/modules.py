"""Answers about single modules."""

from __future__ import annotations

from tb_hookview.report.module.detail import module_bars, module_detail
from tb_hookview.report.module.search import search_kernels
from tb_hookview.report.open_trace import OpenTrace
from tb_hookview.schema.module import KernelSearch, ModuleDetail


def module(trace: OpenTrace, *, path: str, step: list[str]) -> ModuleDetail:
    """One module."""
    return module_detail(trace.analysis, path, step)


def bars(
    trace: OpenTrace, *, path: list[str], measure: str, step: list[str]
) -> dict[str, list[float]]:
    """What the calls of some modules cost over time, in microseconds."""
    return module_bars(trace.analysis, path, measure, step)


def search(trace: OpenTrace, *, q: str, step: list[str]) -> KernelSearch:
    """The modules whose kernels have a text in their names."""
    return search_kernels(trace.analysis, q, step)
