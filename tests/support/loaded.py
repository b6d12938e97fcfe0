"""Shared traces read once for all tests of a process. What they return is only looked at."""

from __future__ import annotations

from functools import lru_cache

from shared_traces import shared_trace

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.loading import load
from tb_hookview.report.build import build_report
from tb_hookview.report.result import Report

_KEPT = 12
"""Analyses take tens of megabytes each."""


@lru_cache(_KEPT)
def loaded(name: str) -> Analysis:
    """A trace by the beginning of its name; skips the test where it is absent."""
    return load(shared_trace(name))


@lru_cache(_KEPT)
def reported(name: str) -> Report:
    """The report of such a trace."""
    return build_report(loaded(name))
