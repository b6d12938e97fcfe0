"""StreamGaps and queues of streams, drawn and against a slow count; what a device did."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import grid
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_hookview.analysis.breakdown import find_breakdown
from tb_hookview.analysis.device.events import queue_length
from tb_hookview.analysis.selection import select
from tb_hookview.loading import load
from tb_hookview.report.tables.devices import device_rows, find_stream_gaps, stream_rows
from tb_hookview.schema import DeviceUse, Stream


def only(folder: Path, picture: str) -> tuple[DeviceUse, Stream]:
    selection = select(load(grid.write(folder / "t.json", grid.events(picture))), None)
    (device,) = device_rows(selection, find_breakdown(selection.analysis))
    (stream,) = stream_rows(selection)
    return device, stream


def test_a_pause_before_work_launched_late_is_the_hosts(tmp_path: Path) -> None:
    picture = """
    main calls  [cudaLaunchKernel corr=1]               [cudaLaunchKernel corr=2]
    gpu  kernel             [k corr=1   ]                                 [k corr=2 ]
    """
    _, stream = only(tmp_path, picture)
    assert (stream.device, stream.stream, stream.count) == ("0", "7", 2)
    assert (stream.host_us, stream.kernel_us, stream.other_us) == (33, 0, 0)
    assert stream.busy_us == 24


def test_a_pause_before_work_that_waited_is_the_devices_own(tmp_path: Path) -> None:
    picture = """
    main calls  [launch corr=1][launch corr=2][launch corr=3]
    gpu  kernel                  [k corr=1    ]    [k corr=2]                                   [k corr=3]
    """
    device, stream = only(tmp_path, picture)
    assert (stream.host_us, stream.kernel_us, stream.other_us) == (0, 4, 35)
    assert (device.span_us, device.busy_us) == (73, 34)
    assert stream.queue_max == 2


def test_work_that_overlaps_leaves_no_pause_and_counts_once(tmp_path: Path) -> None:
    picture = """
    main calls  [launch corr=1][launch corr=2]
    gpu  kernel                   [k corr=1                     ]
    gpu  kernel                               [k corr=2]
    """
    device, stream = only(tmp_path, picture)
    assert (stream.host_us, stream.kernel_us, stream.other_us) == (0, 0, 0)
    assert (device.busy_us, device.compute_us, device.kernel_us) == (31, 31, 41)


def test_communication_that_computation_hides(tmp_path: Path) -> None:
    picture = """
    main calls  [launch corr=1][launch corr=2]
    gpu  kernel                   [ncclDevKernel_AllReduce corr=1]
    gpu  kernel                               [k corr=2                             ]
    gpu  copy   [m  ]
    """
    device, _ = only(tmp_path, picture)
    assert (device.communication_us, device.compute_us, device.overlapped_us) == (32, 39, 20)
    assert (device.busy_us, device.span_us) == (51 + 5, 69)


def test_without_launches_nothing_is_said_of_pauses(tmp_path: Path) -> None:
    _, stream = only(tmp_path, "gpu kernel [k   ]     [k   ]")
    assert (stream.host_us, stream.kernel_us, stream.other_us) == (None, None, None)
    assert (stream.queue_mean, stream.queue_max) == (None, None)


def test_metrics_of_kernels(tmp_path: Path) -> None:
    """Half of the multiprocessors for 20 us, all for 10 us, of 40 us."""
    path = tmp_path / "t.json"
    numbers = ((0, 20, 0.5, 10), (30, 10, 3.0, 70), (34, 6, 0.0, -1))
    selection = select(load(grid.write(path, [_kernel(*each) for each in numbers])), None)
    (device,) = device_rows(selection, find_breakdown(selection.analysis))
    assert device.utilization == pytest.approx(30 / 40)
    assert device.sm_efficiency == pytest.approx((20 * 0.5 + 10) / 40)
    assert device.occupancy_pct == pytest.approx((20 * 10 + 10 * 70) / 30)


def _kernel(start: int, length: int, blocks: float, occupancy: int) -> dict[str, Any]:
    known = {"device": 0, "blocks per SM": blocks, "est. achieved occupancy %": occupancy}
    place = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "args": known}
    return {**place, "ts": 1000 + start, "dur": length}


WORK = st.tuples(st.integers(0, 300), st.integers(1, 40), st.integers(0, 120), st.booleans())


@settings(max_examples=40)
@given(st.lists(WORK, min_size=1, max_size=25))
def test_against_a_slow_count(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[int, int, int, bool]]
) -> None:
    events = []
    for number, (launch, length, later, known) in enumerate(drawn):
        place = {"ph": "X", "args": {"correlation": number, "device": 0}}
        if known:
            call = {"cat": "cuda_runtime", "name": "launch", "pid": 7, "tid": number}
            events.append({**place, **call, "ts": launch, "dur": 1})
        work = {"cat": "kernel", "name": "k", "pid": 0, "tid": 7}
        events.append({**place, **work, "ts": launch + later, "dur": length})
    path = tmp_path_factory.getbasetemp() / "streams.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    made = load(path)
    everything = made.device_events.start >= 0
    assert [t // 1000 for t in find_stream_gaps(made, everything)] == slow_pauses(drawn)
    queue = queue_length(made.call_tree, made.device_events, everything)
    known_work = [(launch, launch + later) for launch, _, later, known in drawn if known]
    last = dict(zip((queue.time // 1000).tolist(), queue.length.tolist(), strict=True))
    for moment, length in last.items():
        assert length == sum(launch <= moment < start for launch, start in known_work)
    longest = [sum(a <= t <= b for a, b in known_work) for t, _ in known_work]
    assert queue.longest == max(longest, default=0)


def slow_pauses(drawn: list[tuple[int, int, int, bool]]) -> list[int]:
    """Microsecond by microsecond: idle, and of which kind the next event is."""
    rows = sorted((launch + later, i) for i, (launch, _, later, _) in enumerate(drawn))
    pauses = [0, 0, 0]
    reach = rows[0][0] + drawn[rows[0][1]][1]
    for start, i in rows[1:]:
        launch, length, _, known = drawn[i]
        gap = max(start - reach, 0)
        kind = 0 if known and launch > reach else 1 if known and gap < 30 else 2
        pauses[kind] += gap
        reach = max(reach, start + length)
    return pauses


def test_no_queue_is_shorter_than_none_where_the_devices_clock_is_behind(tmp_path: Path) -> None:
    picture = """
        main calls         [launch corr=1]    [launch corr=2]
        gpu  kernel [k corr=1 ] [k corr=2]
        """
    _, row = only(tmp_path, picture)
    assert (row.queue_mean, row.queue_max) == (0, 1)
