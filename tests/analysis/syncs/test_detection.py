"""Pictures of waits: what is one, what it cost, who asked for it."""

from __future__ import annotations

from pathlib import Path

import grid
import pytest
from support.loaded import reported

from tb_hookview import markers
from tb_hookview.loading import load
from tb_hookview.report.build import build_report
from tb_hookview.schema import ReportData, Sync

EVALUATE = "autograd::engine::evaluate_function: "
NAMES = {
    "fc": markers.encode("forward", "fc", "Linear"),
    "wait": "cudaStreamSynchronize",
    "waitall": "cudaDeviceSynchronize",
    "copy": "cudaMemcpyAsync",
    "launch": "cudaLaunchKernel",
    "D2P": "Memcpy DtoH (Device -> Pageable)",
    "P2D": "Memcpy HtoD (Pageable -> Device)",
    "D2pin": "Memcpy DtoH (Device -> Pinned)",
    "step": "ProfilerStep#3",
    "gather'": EVALUATE + "GatherBackward0",
    "frame": "train.py(12): step",
    "inner": "train.py(40): loss_value",
}


def report_of(folder: Path, picture: str) -> ReportData:
    return build_report(load(grid.write(folder / "t.json", grid.events(picture, NAMES)))).data


def only_sync(folder: Path, picture: str) -> Sync:
    (sync,) = report_of(folder, picture).syncs
    return sync


def test_a_blocking_copy_and_the_synchronize_after_it_are_one_sync(tmp_path: Path) -> None:
    sync = only_sync(
        tmp_path,
        """
        main ops   [aten::item                                ]
        main calls   [copy corr=5            ]  [wait corr=6]
        gpu  copy          [D2P corr=5   ]
        """,
    )
    assert sync.api == "cudaMemcpyAsync"
    assert sync.duration_us == 40
    assert (sync.operator, sync.cause) == ("aten::item", "sync-scalar-item")


def test_the_longer_call_of_a_copy_and_its_synchronize_holds_the_sync(tmp_path: Path) -> None:
    sync = only_sync(
        tmp_path,
        """
        main ops   [aten::item                                ]
        main calls   [copy corr=5  ]  [wait corr=6           ]
        gpu  copy      [D2P corr=5]
        """,
    )
    assert (sync.api, sync.duration_us) == ("cudaStreamSynchronize", 41)


def test_a_synchronize_after_other_calls_is_a_sync_of_its_own(tmp_path: Path) -> None:
    """As where cuDNN times its algorithms: what lies between is no wait."""
    data = report_of(
        tmp_path,
        """
        main ops   [aten::conv2d                                                           ]
        main calls   [copy corr=5       ] [cudaEventCreateWithFlags   ] [launch] [wait corr=6]
        gpu  copy         [P2D corr=5    ]
        """,
    )
    assert [sync.duration_us for sync in data.syncs] == [20, 13]


def test_synchronizes_of_a_real_trace_are_no_longer_than_their_calls() -> None:
    """One followed a copy by 0.87 s, in the same operator."""
    syncs = reported("kineto_2021_resnet50_autograd_api").data.syncs
    events = [sync for sync in syncs if sync.api == "cudaEventSynchronize"]
    assert sum(sync.duration_us for sync in events) == pytest.approx(424_371, rel=0.01)
    assert max(sync.duration_us for sync in syncs) < 15_000


def test_a_sync_inside_a_sync_is_the_same_sync(tmp_path: Path) -> None:
    sync = only_sync(
        tmp_path,
        """
        main ops   [aten::mm                       ]
        main calls   [synchronizeStream          ]
        main calls     [synchronize            ]
        """,
    )
    assert (sync.api, sync.duration_us) == ("synchronizeStream", 29)


def test_a_copy_that_returned_before_it_was_done_did_not_wait(tmp_path: Path) -> None:
    sync = only_sync(
        tmp_path,
        """
        main ops   [aten::copy_                                ]
        main calls   [copy corr=5]              [wait corr=6]
        gpu  copy                   [P2D corr=5    ]
        """,
    )
    assert (sync.api, sync.duration_us) == ("cudaStreamSynchronize", 13)


def test_a_copy_that_returned_in_the_microsecond_it_was_done_waited(tmp_path: Path) -> None:
    """Both ends are equal on clocks of whole microseconds."""
    sync = only_sync(
        tmp_path,
        """
        main ops   [aten::copy_           ]
        main calls   [copy corr=5       ]
        gpu  copy        [P2D corr=5    ]
        """,
    )
    assert (sync.api, sync.duration_us) == ("cudaMemcpyAsync", 20)


def test_a_copy_to_pinned_memory_never_waits(tmp_path: Path) -> None:
    data = report_of(
        tmp_path,
        """
        main ops   [aten::copy_                    ]
        main calls   [copy corr=5                ]
        gpu  copy          [D2pin corr=5 ]
        """,
    )
    assert data.syncs == []


def test_a_copy_and_a_synchronize_of_different_operators_are_two_syncs(tmp_path: Path) -> None:
    data = report_of(
        tmp_path,
        """
        main ops   [aten::copy_              ]  [aten::item    ]
        main calls   [copy corr=5          ]      [wait corr=6]
        gpu  copy        [D2P corr=5   ]
        """,
    )
    assert [sync.operator for sync in data.syncs] == ["aten::copy_", "aten::item"]


@pytest.mark.parametrize(
    ("length", "gap", "syncs"), [(23, 4, 1), (23, 6, 2), (20, 4, 2), (27, 8, 1), (27, 12, 2)]
)
def test_a_wait_that_begins_after_the_operator_of_its_copy_by_another_clock(
    tmp_path: Path, length: int, gap: int, syncs: int
) -> None:
    """The operator ends 23 us after the copy's call begins; what is at once after it is its own."""
    call = "[copy corr=5" + " " * (length - 13) + "]" + " " * gap + "[wait corr=6]"
    picture = f"""
        main ops   [aten::copy_            ]
        main calls   {call}
        gpu  copy     [P2D corr=5]
        """
    assert len(report_of(tmp_path, picture).syncs) == syncs


@pytest.mark.parametrize(
    ("around", "early", "gap", "syncs"),
    [
        ("aten::to", 8, 8, ["aten::copy_"]),
        ("aten::to", 8, 12, ["aten::to", "aten::copy_"]),
        ("", 8, 8, ["aten::copy_"]),
        ("", 25, 8, [None, "aten::copy_"]),
    ],
)
def test_a_copy_that_begins_before_its_operator_by_another_clock(
    tmp_path: Path, around: str, early: int, gap: int, syncs: list[str | None]
) -> None:
    """The copy's call takes 23 us; an operator that begins while it runs is that which copies."""
    outer = f"main ops   [{around:40}" + " " * 40 + "]" if around else ""
    inner = f"main ops     {' ' * early}[aten::copy_{' ' * 40}]"
    picture = f"""
        {outer}
        {inner}
        main calls   [copy corr=5          ]{" " * gap}[wait corr=6]
        gpu  copy     [D2P corr=5]
        """
    assert [sync.operator for sync in report_of(tmp_path, picture).syncs] == syncs


def test_device_side_waits_and_polls_are_no_syncs(tmp_path: Path) -> None:
    data = report_of(
        tmp_path,
        """
        main ops   [aten::mm                                                          ]
        main calls   [cudaStreamWaitEvent]  [cudaEventQuery]  [cudaLaunchKernel corr=1]
        """,
    )
    assert data.totals.sync_count == 0


def test_the_chain_of_a_sync_in_the_backward_pass(tmp_path: Path) -> None:
    """The stack is that of the forward call which made the node: the autograd thread has none."""
    sync = only_sync(
        tmp_path,
        """
        main notes  [step                                                                      ]
        main python  [frame                                 ]
        main python   [inner                             ]
        main ops       [fc                              ]
        main ops          [aten::gather seq=8]
        auto ops                                               [gather' seq=8 F=1            ]
        auto ops                                                [aten::scatter_add_          ]
        auto calls                                                [wait corr=3]
        """,
    )
    assert (sync.phase, sync.node, sync.module) == ("backward", "GatherBackward0", "fc")
    assert sync.operator == "aten::scatter_add_"
    assert sync.stack == ["train.py(40): loss_value", "train.py(12): step"]
    assert (sync.step, sync.thread) == ("ProfilerStep#3", "auto")


def test_the_profilers_own_call_is_separate(tmp_path: Path) -> None:
    data = report_of(
        tmp_path,
        """
        main ops   [aten::mm]
        main calls   [launch corr=1]      [waitall corr=2]   [waitall corr=3]
        """,
    )
    assert [sync.cause for sync in data.syncs] == ["sync-explicit", "profiler"]
    assert data.totals.sync_count == 2


def test_idle_time_is_the_gap_after_the_sync(tmp_path: Path) -> None:
    """Busy until 10 us into the wait; the next device event, launched after it, begins 14 us later.

    A launch takes 4 us to reach an idle device here, so 10 of these 14 us are the wait's.
    """
    data = report_of(
        tmp_path,
        """
        main ops   [aten::item                                 ][aten::mm         ]
        main calls [launch corr=1]      [wait corr=6          ]   [launch corr=2]
        gpu  kernel    [k corr=1                         ]            [k corr=2   ]
        """,
    )
    (sync,) = data.syncs
    assert sync.duration_us == 23
    assert sync.device_idle_us == 12 - 4
    assert data.findings[0].rule == "sync-scalar-item"
    assert data.findings[0].cost_us_per_step == 8


def test_a_sync_that_left_the_device_busy_costs_nothing(tmp_path: Path) -> None:
    data = report_of(
        tmp_path,
        """
        main ops   [aten::item            ] [aten::mm         ]
        main calls [launch corr=1][wait  ]    [launch corr=2]
        gpu  kernel [k corr=1                                    ][k corr=2]
        """,
    )
    assert data.syncs[0].device_idle_us == 0
    assert not [finding for finding in data.findings if finding.severity != "info"]


def test_one_gap_after_two_syncs_is_attributed_once(tmp_path: Path) -> None:
    """Of the 31 us each wait gets no more than its length: without it the host were so far ahead.

    The first has only 7 us until the second begins, and 8 of what lies after the second's 16.
    """
    data = report_of(
        tmp_path,
        """
        main ops   [aten::item                     ]  [aten::item      ]     [aten::mm         ]
        main calls [launch corr=1]  [wait corr=6  ]    [wait corr=7   ]        [launch corr=2]
        gpu  kernel [k corr=1                  ]                                          [k corr=2  ]
        """,
    )
    gap = 1000 + 82 - (1000 + 39)
    first, second = data.syncs
    assert first.device_idle_us is not None
    assert second.device_idle_us is not None
    latency = gap - (first.device_idle_us + second.device_idle_us)
    assert latency == 12
    assert (first.device_idle_us, first.duration_us) == (15, 15)
    assert (second.device_idle_us, second.duration_us) == (16, 16)


@pytest.mark.parametrize(
    "api",
    [
        "cudaStreamSynchronize",
        "cudaStreamSynchronize_ptsz",
        "cudaDeviceSynchronize",
        "cudaEventSynchronize",
        "hipStreamSynchronize",
        "hipMemcpyWithStream",
        "cudaMemcpy",
        "cuCtxSynchronize",
        "zeCommandQueueSynchronize",
        "urQueueFinish",
        "aclrtSynchronizeStreamWithTimeout",
    ],
)
def test_calls_that_always_wait(tmp_path: Path, api: str) -> None:
    sync = only_sync(tmp_path, f"main ops [aten::to{' ' * 60}]\nmain calls [{api}]")
    assert sync.api == api


def causes(folder: Path, picture: str) -> list[str]:
    """Whose each sync is: the profiler's, or the program's."""
    return [
        "profiler" if sync.cause == "profiler" else "program"
        for sync in report_of(folder, picture).syncs
    ]


@pytest.mark.parametrize(
    ("picture", "whose"),
    [
        (
            """
            main ops                                              [aten::mm    ]
            main calls [waitall corr=2]  [waitall corr=3]  [launch corr=1]
            """,
            ["profiler", "program"],
        ),
        (
            """
            main   ops                                            [aten::mm    ]
            main   calls [destroy] [waitall corr=2]               [launch corr=1]
            """,
            ["program"],
        ),
        (
            """
            main   ops                                            [aten::mm    ]
            main   calls           [waitall corr=2]               [launch corr=1]
            second calls [destroy]
            """,
            ["profiler"],
        ),
        (
            """
            main notes [epoch                            ]
            main calls  [waitall corr=2] [waitall corr=3]
            """,
            ["program", "profiler"],
        ),
        (
            """
            main ops    [aten::mm                             ]
            main calls   [waitall corr=2]  [waitall corr=3]
            """,
            ["program", "program"],
        ),
        (
            """
            main ops    [aten::mm ]              [aten::mm]
            main calls                [waitall  ]
            """,
            ["program"],
        ),
        (
            """
            main ops    [aten::mm ]
            main calls              [wait      ]  [wait      ]
            """,
            ["program", "program"],
        ),
    ],
    ids=[
        *(
            "before the first operator",
            "after a call",
            "after one of another thread",
            "no operator",
        ),
        *("in it", "between two", "of one stream"),
    ],
)
def test_the_profiler_syncs_the_device_outside_of_all_operators(
    tmp_path: Path, picture: str, whose: list[str]
) -> None:
    """Only its thread's first call before the first operator, and the last after the last."""
    assert causes(tmp_path, picture) == whose


def test_a_synchronize_of_another_thread_ends_no_copy(tmp_path: Path) -> None:
    """Both are outside of the operators of their own threads' copies."""
    data = report_of(
        tmp_path,
        """
        main   ops   [aten::copy_           ]
        main   calls   [copy corr=5       ]
        second ops                            [aten::item       ]
        second calls                            [wait corr=6  ]
        gpu    copy        [D2P corr=5    ]
        """,
    )
    assert [(sync.thread, sync.api) for sync in data.syncs] == [
        ("main", "cudaMemcpyAsync"),
        ("second", "cudaStreamSynchronize"),
    ]


def test_two_synchronizes_in_one_operator_are_two_syncs(tmp_path: Path) -> None:
    data = report_of(
        tmp_path,
        """
        main ops   [aten::item                     ]
        main calls   [wait corr=5]  [wait corr=6  ]
        """,
    )
    assert [sync.duration_us for sync in data.syncs] == [13, 15]


def test_a_copy_of_a_graph_without_a_known_call_is_no_sync(tmp_path: Path) -> None:
    data = report_of(
        tmp_path,
        """
        main ops   [aten::mm              ]
        main calls   [launch corr=1     ]
        gpu  copy        [D2P corr=9  ]
        """,
    )
    assert data.syncs == []
