"""Agreement with HolisticTraceAnalysis 0.5.0, whose figures of its own test traces are held here.

From `python benchmarks/agreement.py`, 2026-11-21 and 22; `benchmarks/results/agreement.md` has all of them, and why some
others differ.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.event_tables import event_table
from support.loaded import loaded

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.device.events import queue_length
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool
from tb_hookview.report.tables.devices import find_stream_gaps, find_use
from tb_hookview.report.tables.kernels import kernel_rows

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

KERNELS = {
    "hta_a100_cuda_graphs_rank0": (
        (177271, 160733, 2405),
        (90, 390237, 47033, 12280, 16999.989),
        (6530, 858754, 284770, 793205203),
    ),
    "hta_a100_nccl_training": (
        (107156, 39457, 7196),
        (72, 165185.838, 13809.799, 6645.342, 9014.128),
        (3774, 35864.8, 165185.8, 103192.2),
    ),
    "hta_sampled_rank-0": (
        (151104, 336983, 59216),
        (199, 607844, 150659, 69292, 107896.529),
        (1204, 11050, 607844, 20539698),
    ),
    "hta_sampled_rank-1": (
        (196443, 303523, 75530),
        (188, 667530, 216455, 91422, 136870.963),
        (1154, 9602, 667530, 20270258),
    ),
    "hta_v100_training": (
        (356380, 70838, 158196),
        (135, 907245, 76152, 21553, 35382.187),
        (9972, 413783, 640119, 389462704),
    ),
}
"""Time with kernels of computation, of communication, of both; names of kernels, and over them the
sums of their sum, longest, shortest and mean (`get_gpu_kernel_breakdown`); launches, and their sums
of calls, kernels and delays (`get_cuda_kernel_launch_stats`); microseconds."""

CUT_TO_WHOLE = "hta_a100_nccl_training"
"""Times of this trace have fractions, which it cuts off when it sums what runs alone or together."""

LAUNCHES = {"cudaLaunchKernel", "cudaLaunchKernelExC", "cudaMemcpyAsync", "cudaMemsetAsync"}
"""Calls that its launch statistics are of."""

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
    made = loaded(name)
    use = find_use(made, looked_at(made))
    found = (use.span - use.busy, use.compute, use.busy - use.compute, use.span)
    assert [part / 1000 for part in found] == pytest.approx(TEMPORAL[name], abs=NEAR)
    if name in OVERLAP:
        assert round(100 * use.overlapped / use.communication, 2) == OVERLAP[name]


@pytest.mark.parametrize("name", STREAMS)
def test_pauses_and_queues_of_streams(name: str) -> None:
    made = loaded(name)
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


class LookedAt(Selection, frozen=True):
    """A selection of the device events that it looks at."""

    @property
    def device_events(self) -> Bool:
        return looked_at(self.analysis)


@pytest.mark.parametrize("name", [name for name in KERNELS if name != CUT_TO_WHOLE])
def test_kernels_by_kind(name: str) -> None:
    made = loaded(name)
    use = find_use(made, looked_at(made))
    alone = (use.compute - use.overlapped, use.communication - use.overlapped, use.overlapped)
    assert [part / 1000 for part in alone] == pytest.approx(KERNELS[name][0], abs=NEAR)


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_by_name(name: str) -> None:
    rows, omitted = kernel_rows(LookedAt(loaded(name), None))
    assert omitted is None
    figures = [(row.total_us, row.max_us, row.min_us, row.mean_us) for row in rows]
    count, *sums = KERNELS[name][1]
    assert len({row.name for row in rows}) == len(rows) == count
    assert [sum(column) for column in zip(*figures, strict=True)] == pytest.approx(sums, rel=1e-6)


@pytest.mark.parametrize("name", KERNELS)
def test_launches(name: str) -> None:
    made = loaded(name)
    columns = event_table("device_events", LookedAt(made, None)).to_columns()
    names = event_table("host_rows", Selection(made, None)).to_columns()
    name_of = dict(zip(names["id"], names["name"], strict=True))
    mine = [name_of[launch] in LAUNCHES for launch in columns["launch_id"]]
    count, *sums = KERNELS[name][2]
    assert sum(mine) == count
    for column, total in zip(("launch_us", "duration_us", "launch_delay_us"), sums, strict=True):
        found = sum(value for value, wanted in zip(columns[column], mine, strict=True) if wanted)
        assert found == pytest.approx(total, rel=1e-5), column
