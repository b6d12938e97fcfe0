"""Pictures of clocks that contradict one another, and of some that only seem to."""

from __future__ import annotations

from pathlib import Path

import pytest
import shared_traces
from support.faults import cuda_sync, faults, on_device

from tb_hookview.analysis.analysis import analyze_trace
from tb_hookview.trace import read_trace
from tb_hookview.trace.format.vocabulary import DEVICE_CATEGORIES


def test_an_event_that_begins_before_its_launch(tmp_path: Path) -> None:
    picture = """
        main calls  [launch corr=1]   [launch corr=2]
        gpu  kernel [k corr=1  ][k corr=2 ]
        """
    found = faults(tmp_path, picture)["before-launch"]
    assert (found.count, found.time) == (1, 6_000)


def test_an_event_that_begins_with_its_launch_or_within_rounding(tmp_path: Path) -> None:
    picture = """
        main calls   [launch corr=1]   [launch corr=2]
        gpu  kernel [k corr=1  ]       [k corr=2     ]
        """
    assert "before-launch" not in faults(tmp_path, picture)


def test_a_device_that_outlasts_the_sync_of_all_of_it(tmp_path: Path) -> None:
    picture = """
        main calls  [launch corr=1]  [waitall  ] [waitall  ]
        gpu  kernel           [k corr=1              ]
        """
    found = faults(tmp_path, picture)["after-sync"]
    assert (found.count, found.time) == (1, 6_000)


def test_a_sync_before_which_launches_never_ran_is_of_another_device(tmp_path: Path) -> None:
    picture = """
        main calls  [launch corr=1][launch corr=2]  [waitall  ]
        gpu  kernel           [k corr=1                            ]
        """
    assert set(faults(tmp_path, picture)) == {"lost-at-end"}


@pytest.mark.parametrize(
    "calls",
    [
        "[launch corr=1]      [waitall        ]",  # ends with the event
        "[waitall  ]   [launch corr=1]         ",  # came before the launch
        "[launch corr=1]      [wait  ]         ",  # of a stream that nothing names
    ],
)
def test_a_sync_that_waited_for_nothing_that_outlasts_it(tmp_path: Path, calls: str) -> None:
    picture = f"""
        main calls  {calls}
        gpu  kernel            [k corr=1              ]
        """
    assert "after-sync" not in faults(tmp_path, picture)


def test_a_launch_under_way_as_the_sync_begins_may_outlast_it(tmp_path: Path) -> None:
    picture = """
        main  calls  [waitall  ]
        other calls [launch corr=1         ]
        gpu  kernel             [k corr=1   ]
        """
    assert "after-sync" not in faults(tmp_path, picture)


def test_a_sync_of_one_device_of_two_says_nothing(tmp_path: Path) -> None:
    picture = """
        main calls  [launch corr=1]  [waitall  ]
        gpu  kernel           [k corr=1              ]
        """
    assert "after-sync" not in faults(tmp_path, picture, on_device("k", 0, 5, device=1))


@pytest.mark.parametrize(("begins", "found"), [(16, False), (1950, True)])
def test_a_sync_that_its_device_outlasts_although_it_begins_at_once_is_of_another(
    tmp_path: Path, begins: int, *, found: bool
) -> None:
    """Both end 1.9 ms after it; by clocks that differ so much no event begins 4 us after its call."""
    picture = "main calls  [launch corr=1]  [waitall  ]"
    event = on_device("k", begins, 1960 - begins, correlation=1)
    assert ("after-sync" in faults(tmp_path, picture, event)) == found


@pytest.mark.parametrize(("stream", "expected"), [(7, 6_000), (20, None)])
def test_a_stream_that_outlasts_its_sync(tmp_path: Path, stream: int, expected: int | None) -> None:
    picture = """
        main calls  [launch corr=1]  [wait corr=5]
        gpu  kernel           [k corr=1              ]
        """
    row = cuda_sync("Stream Sync", 30, stream=stream, device=0, correlation=5)
    found = faults(tmp_path, picture, row).get("after-sync")
    assert (found and found.time) == (expected and expected - 2_000)


@pytest.mark.parametrize(("name", "count"), [("toHost", 1), ("toDevice", 0)])
def test_a_synchronous_copy_that_returns_before_it_is_done(
    tmp_path: Path, name: str, count: int
) -> None:
    picture = f"""
        main calls  [cudaMemcpy corr=1]
        gpu  copy        [{name} corr=1       ]
        """
    found = faults(tmp_path, picture).get("after-sync")
    assert (found.count if found else 0) == count


@pytest.mark.parametrize(("hours", "count"), [(0.9, 0), (1.1, 1)])
def test_an_hour_without_an_event(tmp_path: Path, hours: float, count: int) -> None:
    later = on_device("k", round(hours * 3600e6), 5)
    found = faults(tmp_path, "main ops [aten::mm   ]", later).get("clock-jump")
    assert (found.count if found else 0) == count


@pytest.mark.parametrize("shift", [-40_000, 40_000])
def test_a_real_trace_whose_device_clock_is_shifted(shift: int) -> None:
    """By 40 us to either side: more than any launch or synchronize of it leaves open."""
    trace = read_trace(shared_traces.shared_trace("tracelens_mi210_gpu_only"))
    for category in DEVICE_CATEGORIES:
        trace.events.start[trace.events.kind == category] += shift
    codes = {fault.code for fault in analyze_trace(trace).faults}
    assert ("before-launch" in codes, "after-sync" in codes) == (shift < 0, shift > 0)
