"""Pictures of calls that touch the device: waiting, transfer, their own work.

One character is 1 us.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import grid
import pytest

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.loading import load
from tb_hookview.report.build import build_report

NAMES = {
    "launch": "cudaLaunchKernel",
    "wait": "cudaStreamSynchronize",
    "waitall": "cudaDeviceSynchronize",
    "event": "cudaEventSynchronize",
    "order": "cudaStreamWaitEvent",
    "copy": "cudaMemcpyAsync",
    "hipcopy": "hipMemcpyWithStream",
    "P2D": "Memcpy HtoD (Pageable -> Device)",
    "H2D": "Memcpy HtoD (Host -> Device)",
    "pin2D": "Memcpy HtoD (Pinned -> Device)",
    "D2P": "Memcpy DtoH (Device -> Pageable)",
    "free": "cudaFree",
}


class Divided(NamedTuple):
    """Parts of a call's time, microseconds."""

    waited: float
    transfer: float
    own: float


def drawn(folder: Path, picture: str) -> Analysis:
    """A picture's analysis; `stream=` puts a device event on another stream."""
    events = grid.events(picture, NAMES)
    for event in events:
        if event["cat"] in ("kernel", "gpu_memcpy"):
            event["tid"] = event["args"].get("stream", 7)
    return load(grid.write(folder / "t.json", events))


def divided(folder: Path, picture: str) -> dict[str, Divided]:
    """The last call of each name."""
    columns = build_report(drawn(folder, picture)).table("runtime_calls").to_columns()
    parts = zip(columns["waited_us"], columns["transfer_us"], columns["own_us"], strict=True)
    return {name: Divided(*part) for name, part in zip(columns["name"], parts, strict=True)}


def test_a_large_copy_of_pageable_memory_waits_and_returns_before_its_last_piece(
    tmp_path: Path,
) -> None:
    """It is staged piece by piece: its call holds the host until the last one."""
    found = divided(
        tmp_path,
        """
        main calls [launch corr=1][copy corr=2                             ]
        gpu  kernel [k corr=1                          ]
        gpu  copy                                       [P2D corr=2          ]
        """,
    )
    assert found["cudaMemcpyAsync"] == (22, 20, 0)


def test_a_small_copy_of_pageable_memory_is_taken_along_at_once(tmp_path: Path) -> None:
    found = divided(
        tmp_path,
        """
        main calls [launch corr=1][copy corr=2   ]
        gpu  kernel [k corr=1                          ]
        gpu  copy                                       [P2D corr=2]
        """,
    )
    assert found["cudaMemcpyAsync"] == (0, 0, 16)


@pytest.mark.parametrize(("kind", "held"), [("D2P", True), ("pin2D", False)])
def test_memory_decides_whether_a_copy_holds_the_host(
    tmp_path: Path, kind: str, held: bool
) -> None:
    found = divided(
        tmp_path,
        f"""
        main calls [launch corr=1][copy corr=2                            ]
        gpu  kernel [k corr=1                  ]
        gpu  copy                               [{kind} corr=2  ]
        """,
    )
    assert (found["cudaMemcpyAsync"].waited > 0) == held


def test_a_synchronous_copy_that_ends_after_its_call_waited_for_what_was_queued(
    tmp_path: Path,
) -> None:
    """HIP returns as it has the memory; the row of the copy ends 3 us later."""
    analysis = drawn(
        tmp_path,
        """
        main calls [launch corr=1][hipcopy corr=2                     ]
        gpu  kernel [k corr=1                          ]
        gpu  copy                                         [H2D corr=2    ]
        """,
    )
    times = analysis.call_times
    assert (times.waited.tolist(), times.transfer.tolist()) == ([22_000], [13_000])
    assert analysis.syncs.duration.tolist() == [37_000]


def test_a_copy_on_another_stream_waits_where_streams_are_ordered(tmp_path: Path) -> None:
    found = divided(
        tmp_path,
        """
        main calls [launch corr=1][order][copy corr=2                   ]
        gpu  kernel [k corr=1                       ]
        gpu  copy                                    [D2P corr=2 stream=9]
        """,
    )
    assert found["cudaMemcpyAsync"].waited == 12


@pytest.mark.parametrize(("call", "waited"), [("waitall", 23), ("wait   ", 9), ("event  ", 9)])
def test_what_a_synchronize_waits_for(tmp_path: Path, call: str, waited: float) -> None:
    """Of the device: all of it; of a stream or an event: what ended by its return."""
    end = 31 if call == "waitall" else 14
    bar = f"[{call}".ljust(end - 1) + "]"
    found = divided(
        tmp_path,
        f"""
        main calls [launch corr=1][launch corr=2]{bar}
        gpu  kernel [k corr=1                            ]
        gpu  kernel                [k corr=2 stream=9                  ]
        """,
    )
    parts = found[NAMES[call.strip()]]
    assert (parts.waited, parts.transfer, parts.own) == (waited, 0, end - waited)


def test_an_event_s_synchronize_returns_before_what_was_queued_after_the_event(
    tmp_path: Path,
) -> None:
    found = divided(
        tmp_path,
        """
        main calls [launch corr=1][launch corr=2][event         ]
        gpu  kernel [k corr=1                           ][k corr=2         ]
        """,
    )
    assert found["cudaEventSynchronize"].waited == 8


@pytest.mark.parametrize(
    ("second", "waited"), [("[free                  ]", [22, 22]), ("[free    ]", [0, 0])]
)
def test_a_free_waits_where_those_of_its_name_do(
    tmp_path: Path, second: str, waited: list[float]
) -> None:
    analysis = drawn(
        tmp_path,
        f"""
        main calls [launch corr=1][free                ]  [launch corr=2]{second}
        gpu  kernel   [k corr=1                        ]         [k corr=2                    ]
        """,
    )
    table = build_report(analysis).table("runtime_calls").to_columns()
    frees = [
        time
        for name, time in zip(table["name"], table["waited_us"], strict=True)
        if name == "cudaFree"
    ]
    assert frees == waited
    assert len(analysis.syncs) == sum(time > 0 for time in frees)


def test_a_wait_ends_with_what_it_waited_for_though_the_clocks_differ(tmp_path: Path) -> None:
    """By 6 us here, which the synchronize shows: a copy that ends 4 us late waited, too."""
    analysis = drawn(
        tmp_path,
        """
        main calls [launch corr=1][wait                ][launch corr=2][waitall          ]
        gpu  kernel [k corr=1                              ]            [k corr=2              ]
        """,
    )
    assert analysis.clocks.skew == 6_000
    assert analysis.call_times.waited.tolist() == [22_000, 19_000]


@pytest.mark.parametrize(("begins", "waited"), [(250, 500), (150, 0)])
def test_a_wait_is_seen_by_clocks_that_differ_more_than_usual(
    tmp_path: Path, begins: int, waited: int
) -> None:
    """By 300 us: not where an event begins 150 us after its launch, at most 250 by other clocks."""
    picture = """
        main calls [launch corr=1][waitall ]
        gpu kernel [k corr=1]
        """
    launch, wait, kernel = events = grid.events(picture, NAMES)
    wait["dur"] = 500
    kernel["ts"] = launch["ts"] + begins
    kernel["dur"] = wait["ts"] + 800 - kernel["ts"]
    analysis = load(grid.write(tmp_path / "t.json", events))
    assert analysis.call_times.waited.tolist() == [waited * 1000]


def test_idle_time_gains_and_syncs_follow_from_one_division(tmp_path: Path) -> None:
    """The waits of the table of calls, of the syncs and of the report are the same time."""
    analysis = drawn(
        tmp_path,
        """
        main ops   [aten::mm      ][aten::item                                    ]
        main calls [launch corr=1]  [copy corr=2                       ] [wait  ]
        gpu  kernel [k corr=1                  ]
        gpu  copy                               [D2P corr=2          ]
        """,
    )
    report = build_report(analysis)
    (sync,) = report.data.syncs
    calls = report.table("runtime_calls").to_columns()
    assert sync.waited_us == sum(calls["waited_us"]) == report.data.totals.sync_waited_us
    assert sync.transfer_us == sum(calls["transfer_us"]) == report.data.totals.sync_transfer_us
    assert sync.waited_for is not None
    assert sync.waited_for.name == "Memcpy DtoH (Device -> Pageable)"


def test_a_synchronize_that_waits_for_the_copy_before_it_is_part_of_the_transfer(
    tmp_path: Path,
) -> None:
    """The call of a copy from pageable memory returns before the device has all of it."""
    analysis = drawn(
        tmp_path,
        """
        main ops   [aten::mm      ][aten::copy_                                          ]
        main calls [launch corr=1]  [copy corr=2                     ] [wait           ]
        gpu  kernel [k corr=1 ]
        gpu  copy                         [P2D corr=2                        ]
        """,
    )
    (sync,) = build_report(analysis).data.syncs
    assert (sync.waited_us, sync.transfer_us) == (0, 27 + 8)
    assert sync.waited_for is not None
    assert sync.waited_for.name == "Memcpy HtoD (Pageable -> Device)"


def test_without_device_events_it_is_unknown_how_a_call_divides(tmp_path: Path) -> None:
    analysis = drawn(
        tmp_path,
        """
        main ops   [aten::mm      ][aten::item           ]
        main calls [launch corr=1]  [copy corr=2][wait  ]
        """,
    )
    report = build_report(analysis)
    (sync,) = report.data.syncs
    totals, calls = report.data.totals, report.table("runtime_calls").to_columns()
    assert (sync.waited_us, sync.transfer_us) == (None, None)
    assert (totals.sync_waited_us, totals.sync_transfer_us) == (None, None)
    assert {*calls["waited_us"], *calls["transfer_us"], *calls["own_us"]} == {None}
    assert totals.sync_blocked_us > 0
