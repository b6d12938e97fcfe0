"""Agreement with HolisticTraceAnalysis 0.5.0, whose figures of its own test traces are held here.

From `python benchmarks/agreement.py`, 2026-11-21; `docs/agreement.md` has all of them, and why some
others differ.
"""

from __future__ import annotations

import numpy as np
import pytest
import shared_traces

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.device.queue_length import queue_length
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool
from tb_hookview.loading import load
from tb_hookview.report.tables.devices import find_use
from tb_hookview.report.tables.streams import find_stream_gaps

TEMPORAL = {
    "hta_a100_cuda_graphs_rank0": (848216, 179676, 201180, 1229072),
    "hta_a100_nccl_training": (503050.991, 115655.847, 41844.167, 660551.006),
    "hta_mi250_minitoy_training": (8762.845, 110.881, 38.161, 8911.887),
    "hta_sampled_rank-0": (675191, 210320, 337336, 1222847),
    "hta_sampled_rank-1": (651136, 271973, 308077, 1231186),
    "hta_v100_training": (51692, 514576, 178246, 744514),
}
"""Idle, compute and other time, and all of it, microseconds (`get_temporal_breakdown`)."""

OVERLAP = {
    "hta_a100_cuda_graphs_rank0": 1.47,
    "hta_a100_nccl_training": 15.61,
    "hta_sampled_rank-0": 14.95,
    "hta_sampled_rank-1": 19.93,
    "hta_v100_training": 69.07,
}
"""Percent of the communication (`get_comm_comp_overlap`)."""

STREAMS = {
    "hta_sampled_rank-0": {
        "7": (397917, 3765, 598335, 2104, 25.458174904942965, 80),
        "23": (1214793, 160, 34, 252, 0.626984126984127, 4),
        "25": (560120, 35, 100413, 32, 4.0, 8),
        "84": (794901, 6, 3142, 16, 0.625, 2),
        "203": (558073, 0, 0, 4, 0.5, 1),
    },
    "hta_a100_nccl_training": {
        "7": (540091.32, 2150.34, 0, 7506, 0.8141486810551559, 10),
        "40": (583924.26, 0, 0, 42, 0.5, 1),
    },
    "hta_mi250_minitoy_training": {"0": (8762.84, 0, 0, 32, 0.5, 1)},
    "hta_a100_alexnet_sync_events": {
        "7": (12855007, 104, 0, 182, 3.3461538461538463, 18),
        "20": (12011718, 3, 0, 14, 0.6428571428571429, 2),
    },
}
"""By stream: pauses by host, kernel and other, microseconds (`get_idle_time_breakdown`); points of
the queue's length, their mean and greatest (`get_queue_length_summary`)."""

NEAR = 0.5
"""Microseconds: it reads times since 1970 as doubles, which step by a quarter of one."""


def looked_at(made: Analysis) -> Bool:
    """Its device events: with steps, those launched by the last one's end."""
    work = made.device_events
    if len(made.steps.name) < 2:
        return np.ones(len(work), bool)
    launched = lookup(made.call_tree.start, work.launch)
    return np.asarray((work.launch >= 0) & (launched <= made.steps.window[-1, 1]))


@pytest.mark.parametrize("name", TEMPORAL)
def test_time_of_the_device(name: str) -> None:
    made = load(shared_traces.shared_trace(name))
    use = find_use(made, looked_at(made))
    found = (use.span - use.busy, use.compute, use.busy - use.compute, use.span)
    assert [part / 1000 for part in found] == pytest.approx(TEMPORAL[name], abs=NEAR)
    if name in OVERLAP:
        assert round(100 * use.overlapped / use.communication, 2) == OVERLAP[name]


@pytest.mark.parametrize("name", STREAMS)
def test_pauses_and_queues_of_streams(name: str) -> None:
    made = load(shared_traces.shared_trace(name))
    thread = made.trace.events.thread[made.device_events.event]
    chosen = looked_at(made)
    ids = {made.trace.threads[each].tid: each for each in np.unique(thread[chosen])}
    assert ids.keys() == STREAMS[name].keys()
    for stream, figures in STREAMS[name].items():
        mine = chosen & (thread == ids[stream])
        pauses = [time / 1000 for time in find_stream_gaps(made, mine)]
        assert pauses == pytest.approx(figures[:3], abs=NEAR)
        queue = queue_length(made.call_tree, made.device_events, mine)
        assert (len(queue.time), queue.longest) == (figures[3], figures[5])
        assert queue.length.mean() == pytest.approx(figures[4])
