"""What a run needs of a trace as one of its ranks."""

from __future__ import annotations

import numpy as np
from invariants.case import Case
from invariants.registry import Of, invariant
from support.same_trace import assert_same

from tb_hookview.analysis.analysis import analyze_trace
from tb_hookview.errors import TraceError
from tb_hookview.ranks.map.summary import NEEDED, Mapped, summarize
from tb_hookview.trace import read_trace


@invariant(Of.FILES)
def the_summary_of_what_it_needs_is_that_of_all_columns(case: Case) -> None:
    assert_same(_of_what_it_needs(case), case.read if isinstance(case.read, str) else case.summary)


def _of_what_it_needs(case: Case) -> Mapped | str:
    """The summary, or why there is none."""
    try:
        trace = read_trace(case.path, wanted=NEEDED)
    except TraceError as error:
        return str(error)
    return summarize(analyze_trace(trace))


@invariant(Of.RECORDINGS)
def times_of_a_summary_fit_into_their_windows(case: Case) -> None:
    summary, host = case.summary.summary, case.summary.times.host
    window = np.diff(summary.edges)
    assert (window > 0).all()
    assert ((summary.held >= 0) & (summary.held <= window)).all()
    on_host = np.zeros(len(window), np.int64)
    np.add.at(on_host, host.window, host.time)
    assert (on_host <= window).all()
    assert (summary.collectives.end >= summary.collectives.start).all()
    assert set(summary.collectives.start.tolist()) <= set(summary.edges.tolist())
    steps = summary.steps
    for part in (steps.compute, steps.communication, steps.exposed, steps.idle):
        assert ((part >= 0) & (part <= steps.duration)).all()
    assert (steps.exposed <= steps.communication).all()
