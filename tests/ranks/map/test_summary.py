"""Summaries of traces recorded by others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from shared_traces import all_traces

from tb_hookview.ranks.map.summary import Mapped
from tb_hookview.ranks.run import summarize_file
from tb_hookview.trace.source.file import trace_file

pytestmark = pytest.mark.slow
TRACES = all_traces()


@pytest.mark.skipif(not TRACES, reason="no ../shared/traces beside the checkout")
def test_times_of_a_summary_fit_into_their_windows() -> None:
    summaries = [summarize_file(trace_file(path)) for path in TRACES]
    found = [summary for summary in summaries if isinstance(summary, Mapped)]
    assert len(found) > len(TRACES) / 2
    for summary in found:
        check(summary)


def check(mapped: Mapped) -> None:
    summary, host = mapped.summary, mapped.times.host
    name = Path(summary.path).name
    window = np.diff(summary.edges)
    assert (window > 0).all(), name
    assert ((summary.held >= 0) & (summary.held <= window)).all(), name
    on_host = np.zeros(len(window), np.int64)
    np.add.at(on_host, host.window, host.time)
    assert (on_host <= window).all(), name
    assert (summary.collectives.end >= summary.collectives.start).all(), name
    assert set(summary.collectives.start.tolist()) <= set(summary.edges.tolist()), name
    steps = summary.steps
    for part in (steps.compute, steps.communication, steps.exposed, steps.idle):
        assert ((part >= 0) & (part <= steps.duration)).all(), name
    assert (steps.exposed <= steps.communication).all(), name
