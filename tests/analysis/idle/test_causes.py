"""Pictures of devices that idle: which cause gets which part, and what else stops the host."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grid
import msgspec
import pytest

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.loading import load
from tb_hookview.report.build import build_report
from tb_hookview.report.summary.lines import detail_lines
from tb_hookview.schema import Idle, ReportData

NAMES = {
    "wait": "cudaStreamSynchronize",
    "waitall": "cudaDeviceSynchronize",
    "copy": "cudaMemcpyAsync",
    "launch": "cudaLaunchKernel",
    "malloc": "cudaMalloc",
    "loader": "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
    "P2D": "Memcpy HtoD (Pageable -> Device)",
    "D2P": "Memcpy DtoH (Device -> Pageable)",
    "nccl": "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
    "gloo": "gloo:all_reduce",
    "order": "cudaStreamWaitEvent",
}


def report_of(folder: Path, picture: str, *more: dict[str, Any], **names: str) -> ReportData:
    events = [*grid.events(picture, {**NAMES, **names}), *more]
    return build_report(load(grid.write(folder / "t.json", events))).data


def idle_of(data: ReportData) -> dict[str, float]:
    """The parts of the only step that are not 0."""
    (step,) = data.steps
    assert step.idle is not None
    parts = msgspec.structs.asdict(step.idle)
    assert sum(part or 0 for part in parts.values()) == step.device_idle_us
    return {name: part for name, part in parts.items() if part}


def test_every_cause_is_a_field_of_the_report() -> None:
    assert Idle.__struct_fields__ == tuple(cause.name.lower() for cause in Cause)


def test_a_slow_host_and_a_queue_that_holds_the_next_kernel(tmp_path: Path) -> None:
    """The second kernel comes 23 us after the first; the third 3 us late, although launched."""
    data = report_of(
        tmp_path,
        """
        main calls [launch corr=1]                   [launch corr=2][launch corr=3]
        gpu kernel  [k corr=1    ]                       [k corr=2                       ]   [k corr=3]
        """,
    )
    assert idle_of(data) == {"launch": 1 + 23, "device": 3}


def test_a_device_that_starts_long_after_a_launch_is_not_late_because_of_the_host(
    tmp_path: Path,
) -> None:
    """The launch latency is 4 us; the third kernel starts 16 us after its call returned."""
    data = report_of(
        tmp_path,
        """
        main calls [launch corr=1]     [launch corr=2]        [launch corr=3]
        gpu kernel  [k corr=1    ]         [k corr=2  ]                                      [k corr=3]
        """,
    )
    assert idle_of(data) == {"launch": 1 + 9 + 22, "device": 16}


def test_a_delay_of_a_devices_first_event_is_unknown(tmp_path: Path) -> None:
    """What the device did before is not in the trace, whatever the host does meanwhile."""
    data = report_of(
        tmp_path,
        """
        main notes                  [loader                            ]
        main calls [launch corr=1]  [launch corr=2][cudaMalloc]                                    [launch corr=3]
        gpu kernel                                                          [k corr=1][k corr=2]    [k corr=3  ]
        """,
    )
    assert idle_of(data) == {"launch": 15 + 4, "unknown": 42 + 2}


def test_a_start_soon_after_a_launch_is_the_hosts_where_the_latency_is_unknown(
    tmp_path: Path,
) -> None:
    """Up to 50 us are usual of a launch onto an idle device."""
    picture = """
        main calls [launch corr=1]
        gpu kernel                {pause}[k corr=1]
        """
    assert idle_of(report_of(tmp_path, picture.format(pause=50 * " "))) == {"launch": 65}
    late = idle_of(report_of(tmp_path, picture.format(pause=51 * " ")))
    assert late == {"launch": 15, "unknown": 51}


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("cudaLaunchKernel", {"launch": 14, "unknown": 29}),
        ("cudaEventRecord", {"launch": 36, "sync": 6, "unknown": 1}),
    ],
)
def test_idle_time_after_a_launch_without_device_events_is_unknown(
    tmp_path: Path, call: str, found: dict[str, float]
) -> None:
    """The device may have run what the profiler lost, also where the host waits."""
    data = report_of(
        tmp_path,
        """
        main calls [launch corr=1]             [call corr=8 ]  [wait]  [launch corr=3]
        gpu kernel  [k corr=1    ]                                         [k corr=3]
        """,
        call=call,
    )
    assert idle_of(data) == found


def test_the_host_is_seen_at_work_before_the_first_launch(tmp_path: Path) -> None:
    """On the thread that launches; where nothing is recorded the reason is unknown."""
    data = report_of(
        tmp_path,
        """
        other ops  [aten::to   ]
        main  ops        [aten::mm    ]   [aten::add       ]
        main  calls                        [launch corr=1  ]
        gpu   kernel                            [k corr=1  ]
        """,
    )
    assert idle_of(data) == {"launch": 14 + 6, "unknown": 6 + 3}


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("cudaDeviceSynchronize", {"launch": 8 + 9}),
        ("cudaStreamSynchronize", {"launch": 8, "unknown": 9}),
    ],
)
def test_a_device_that_a_wait_shows_idle_after_its_last_event(
    tmp_path: Path, call: str, found: dict[str, float]
) -> None:
    data = report_of(
        tmp_path,
        """
        main notes [ProfilerStep#1            ]
        main calls     [launch corr=1]              [call ]
        gpu kernel         [k corr=1 ]
        """,
        call=call,
    )
    assert idle_of(data) == found


def test_a_launch_whose_device_event_is_lost_may_run_until_a_wait(tmp_path: Path) -> None:
    data = report_of(
        tmp_path,
        """
        main notes [ProfilerStep#1                               ]
        main calls     [launch corr=1]     [launch corr=2]          [waitall ]
        gpu kernel         [k corr=1 ]
        """,
    )
    assert idle_of(data)["unknown"] == 28


def test_a_gap_is_the_devices_own_whatever_the_host_does(tmp_path: Path) -> None:
    data = report_of(
        tmp_path,
        """
        main notes                                [loader                 ]
        main calls [launch corr=1][launch corr=2]
        gpu kernel    [k corr=1                         ]          [k corr=2]
        """,
    )
    assert idle_of(data) == {"launch": 3, "device": 10}


def test_time_in_a_loader_after_a_sync_is_the_loaders(tmp_path: Path) -> None:
    """The loss is read, then the next batch loaded: the wait has what is before the loader's."""
    data = report_of(
        tmp_path,
        """
        main notes                                         [loader                 ]
        main ops   [aten::item                          ]
        main calls [launch corr=1]   [wait corr=6     ]                               [launch corr=2]
        gpu kernel     [k corr=1                    ]                                     [k corr=2]
        """,
    )
    (sync,) = data.syncs
    assert idle_of(data) == {"launch": 4 + 6, "sync": 6, "data_loading": 25, "unknown": 1}
    assert sync.device_idle_us == 6


def test_a_sync_claims_no_more_than_its_length(tmp_path: Path) -> None:
    data = report_of(
        tmp_path,
        """
        main calls [launch corr=1]   [wait]                                    [launch corr=2]
        gpu kernel    [k corr=1    ]                                           [k corr=2     ]
        """,
    )
    assert idle_of(data)["sync"] == data.syncs[0].device_idle_us == data.syncs[0].duration_us == 6


def test_a_delay_of_the_device_after_a_sync_is_not_the_syncs(tmp_path: Path) -> None:
    """What was launched after the wait was there long before the device got to it."""
    data = report_of(
        tmp_path,
        """
        main calls [launch corr=1][wait corr=6    ][launch corr=2]
        gpu kernel  [k corr=1                                            ]                   [k corr=2]
        """,
    )
    assert data.syncs[0].device_idle_us == 0
    assert idle_of(data) == {"launch": 1, "device": 19}


def test_a_sync_while_another_thread_goes_on_launching_costs_nothing(tmp_path: Path) -> None:
    data = report_of(
        tmp_path,
        """
        other calls          [wait corr=6                                            ]
        main  calls [launch corr=1]         [launch corr=2]                             [launch corr=3]
        gpu  kernel  [k corr=1    ]           [k corr=2   ]                              [k corr=3    ]
        """,
    )
    assert data.syncs[0].device_idle_us == 0
    assert "sync" not in idle_of(data)


def test_a_launch_of_another_thread_at_the_end_of_a_sync_came_after_it(tmp_path: Path) -> None:
    data = report_of(
        tmp_path,
        """
        other calls                   [wait corr=6     ]
        main  calls [launch corr=1]                     [launch corr=2]
        gpu  kernel  [k corr=1    ]                        [k corr=2  ]
        """,
    )
    assert data.syncs[0].device_idle_us == idle_of(data)["sync"] == 18


def test_allocations_have_a_table_of_their_own(tmp_path: Path) -> None:
    data = report_of(
        tmp_path,
        """
        main calls [launch corr=1]   [malloc]  [malloc            ]  [cudaFree]  [launch corr=2]
        gpu kernel    [k corr=1       ]                                             [k corr=2  ]
        """,
    )
    assert data.totals.sync_count == 0
    rows = [(row.api, row.count, row.blocked_us, row.device_idle_us) for row in data.allocations]
    assert rows == [("cudaMalloc", 2, 28, 26), ("cudaFree", 1, 10, 10)]
    assert idle_of(data)["allocator"] == 36


def test_an_allocation_on_a_thread_that_launches_nothing_is_nobodys_idle_time(
    tmp_path: Path,
) -> None:
    data = report_of(
        tmp_path,
        """
        pin  calls                   [cudaHostAlloc             ]
        main calls [launch corr=1]                                  [launch corr=2]
        gpu kernel    [k corr=1    ]                                   [k corr=2  ]
        """,
    )
    assert "allocator" not in idle_of(data)
    assert data.allocations[0].device_idle_us == 0


def test_a_copy_of_pageable_memory_that_the_device_waits_for(tmp_path: Path) -> None:
    data = report_of(
        tmp_path,
        """
        main calls [launch corr=1]           [copy corr=2                          ]
        gpu kernel    [k corr=1    ]
        gpu copy                                                                 [P2D corr=2 ]
        """,
    )
    assert data.syncs == []
    assert idle_of(data) == {"launch": 3 + 9, "copy": 36}


def test_the_profilers_overhead_but_not_the_drivers(tmp_path: Path) -> None:
    picture = """
        main calls [launch corr=1]                                      [launch corr=2]
        gpu kernel    [k corr=1    ]                                       [k corr=2  ]
        """
    row = {"ph": "X", "cat": "overhead", "pid": -1, "tid": 0, "ts": 1040, "dur": 10}
    data = report_of(tmp_path, picture, {**row, "name": "Buffer Flush"})
    assert idle_of(data)["profiler"] == 10
    data = report_of(tmp_path, picture, {**row, "name": "Lazy Function Loading"})
    assert "profiler" not in idle_of(data)


def test_a_collective_of_the_host_and_the_pause_before_a_copy_of_one(tmp_path: Path) -> None:
    data = report_of(
        tmp_path,
        """
        comm notes                    [gloo         ]
        main ops                                         [c10d::allreduce_                 ]
        main calls [launch corr=1]                       [launch corr=2][launch corr=3]
        gpu kernel    [k corr=1    ]                       [k corr=2                    ]
        gpu copy                                                                            [Memcpy corr=3]
        """,
    )
    assert idle_of(data)["communication"] == 15 + 3


@pytest.mark.parametrize(("launched", "cause"), [(40, "communication"), (130, "device")])
def test_a_pause_after_a_copy_of_a_collective_that_ended_before_the_launch(
    launched: int, cause: str, tmp_path: Path
) -> None:
    """No other rank is waited for then."""
    calls = "main calls [launch corr=1][launch corr=2]".ljust(10 + launched) + "[launch corr=3]"
    picture = f"""
        main ops                  [c10d::allreduce_]
        {calls}
        gpu kernel   [k corr=1]{" " * 76}{" " * 160}[k corr=3]
        gpu copy               [Memcpy corr=2{" " * 60}]
        """
    idle = idle_of(report_of(tmp_path, picture))
    other = ({"communication", "device"} - {cause}).pop()
    assert idle.get(cause, 0) > 0
    assert other not in idle


@pytest.mark.parametrize("launched", [30, 100])
def test_pauses_around_a_kernel_of_a_collective_are_no_wait_for_ranks(
    launched: int, tmp_path: Path
) -> None:
    """It begins without the other ranks, and waits for them as it runs."""
    calls = "main calls [launch corr=1][launch corr=2]".ljust(10 + launched) + "[launch corr=3]"
    picture = f"""
        {calls}
        gpu kernel   [k corr=1]{" " * 200}[nccl corr=2{" " * 60}]{" " * 160}[k corr=3]
        """
    idle = idle_of(report_of(tmp_path, picture))
    assert idle.get("device", 0) > 160 + 100
    assert "communication" not in idle


def test_what_a_device_did_before_its_launches_were_recorded_was_queued(tmp_path: Path) -> None:
    data = report_of(
        tmp_path,
        """
        main calls [launch corr=9]
        gpu kernel  [k corr=3  ]   [k corr=4  ]          [k corr=9]     [k corr=70]
        """,
    )
    assert idle_of(data) == {"device": 3 + 10, "unknown": 1 + 5}


def test_a_sync_on_a_kernel_and_on_a_long_copy(tmp_path: Path) -> None:
    """A copy waits for what is ahead of it: here mostly for the kernel, then mostly for itself."""
    data = report_of(
        tmp_path,
        """
        main ops                   [aten::item                      ] [aten::to                         ]
        main calls [launch corr=1]   [copy corr=2                 ]      [copy corr=3                  ]
        gpu kernel     [gemm corr=1                  ]
        gpu copy                                      [D2P corr=2]             [D2P corr=3      ]
        """,
    )
    first, second = data.syncs
    assert first.waited_for is not None
    assert second.waited_for is not None
    assert (first.waited_for.name, first.waited_for.duration_us) == ("gemm", 31)
    assert (first.waited_for.device, first.waited_for.stream) == ("0", "7")
    assert (second.waited_for.name, second.waited_for.duration_us) == (NAMES["D2P"], 18)


def test_a_sync_without_a_blocking_event(tmp_path: Path) -> None:
    data = report_of(
        tmp_path,
        """
        main calls [launch corr=1]                 [wait corr=2  ]
        gpu kernel     [gemm corr=1]
        """,
    )
    assert data.syncs[0].waited_for is None


def test_a_sync_that_ended_a_microsecond_before_its_kernel_waited_for_it(tmp_path: Path) -> None:
    """A clock of whole microseconds may order the two ends so."""
    data = report_of(
        tmp_path,
        """
        main calls [launch corr=1][launch corr=2] [wait corr=3          ]
        gpu kernel  [relu corr=1                      ][gemm corr=2      ]
        """,
    )
    (sync,) = data.syncs
    assert sync.waited_for is not None
    assert sync.waited_for.name == "gemm"


def test_waits_of_streams_on_the_device_are_counted_separately(tmp_path: Path) -> None:
    data = report_of(tmp_path, "main calls [launch corr=1] [order corr=2] [order] [cudaEventQuery]")
    assert (data.totals.device_wait_count, data.totals.sync_count) == (2, 0)


def full_queue(slow: int, last: int) -> list[dict[str, Any]]:
    """Launches every 10 us of kernels of 100 us each, the last of them slow."""
    events = []
    for i in range(last + 1):
        start, length = 1000 + 10 * i, slow if i == last else 5
        host = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7}
        work = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7}
        args = {"correlation": i + 1}
        events.append({**host, "ts": start, "dur": length, "args": args})
        events.append({**work, "ts": 1005 + 100 * i, "dur": 100, "args": args})
    return events


@pytest.mark.parametrize(
    ("slow", "last", "expected"),
    [(400, 1100, 1), (30, 1100, 1), (20, 1100, 0), (400, 900, 0)],
    ids=[
        *("slow onto a full queue", "until the next event begins", "as fast as others"),
        "slow, but there is room",
    ],
)
def test_launches_onto_a_full_queue(tmp_path: Path, slow: int, last: int, expected: int) -> None:
    """With 1100 launched 110 have begun, so 990 are ahead of the last; with 900 only 810."""
    data = build_report(load(grid.write(tmp_path / "t.json", full_queue(slow, last)))).data
    assert data.totals.queue_full_count == expected
    assert data.totals.queue_full_us == data.steps[0].queue_full_us == expected * slow
    waited = [line for line in detail_lines(data) if "for a full queue" in line]
    assert len(waited) == (expected > 0)
    assert data.totals.sync_count == 0


def test_a_copy_that_waits_after_a_full_queue_is_a_sync(tmp_path: Path) -> None:
    events = full_queue(5, 1100)
    call, copy = events[-2:]
    call |= {"name": "cudaMemcpyAsync", "dur": copy["ts"] + copy["dur"] - call["ts"] + 9}
    copy |= {"name": NAMES["D2P"], "cat": "gpu_memcpy"}
    # Other copies make this one a slow one among them.
    others = [event for event in events if event["name"] == "cudaLaunchKernel"][:9]
    for event in others:
        event["name"] = "cudaMemcpyAsync"
    data = build_report(load(grid.write(tmp_path / "t.json", events))).data
    assert data.totals.queue_full_count == 0
    assert [sync.duration_us for sync in data.syncs] == [call["dur"]]


def test_without_device_events_nothing_is_known(tmp_path: Path) -> None:
    data = report_of(tmp_path, "main ops [aten::mm]")
    assert data.steps[0].idle is None
    assert data.steps[0].queue_full_us is data.totals.queue_full_us is None


def test_each_name_of_launch_has_its_own_usual_length(tmp_path: Path) -> None:
    """The last two are slow, one of each name."""
    events = full_queue(400, 1101)
    for event in events[::4]:
        event["name"] = "cudaLaunchKernelExC"
    events[-4]["dur"] = 300
    events[-2]["ts"] += 300
    data = build_report(load(grid.write(tmp_path / "t.json", events))).data
    assert (data.totals.queue_full_count, data.totals.queue_full_us) == (2, 700)


def test_each_device_has_a_queue(tmp_path: Path) -> None:
    """Of 1100 launches half go to each of two devices: neither queue is full."""
    events = full_queue(400, 1100)
    for work in events[3::4]:
        work["pid"] = 1
    data = build_report(load(grid.write(tmp_path / "t.json", events))).data
    assert data.totals.queue_full_count == 0
