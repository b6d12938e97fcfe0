"""Shared traces read once for all tests of a process, which only look at them."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from shared_traces import shared_trace

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.loading import load
from tb_hookview.report.build import build_report
from tb_hookview.report.result import Report

_KEPT = 12
"""Analyses take tens of megabytes each."""


def loaded(name: str) -> Analysis:
    """A trace by the beginning of its name; skips the test where it is absent."""
    return _loaded(shared_trace(name))


def reported(name: str) -> Report:
    """The report of such a trace."""
    return _reported(shared_trace(name))


@lru_cache(_KEPT)
def _loaded(path: Path) -> Analysis:
    return load(path)


@lru_cache(_KEPT)
def _reported(path: Path) -> Report:
    return build_report(_loaded(path))
