"""Pictures of launches: which call of the host each device event belongs to."""

from __future__ import annotations

from pathlib import Path

import grid
import pytest

from tb_hookview.analysis.device.events import repeated_launches
from tb_hookview.loading import load

GO = {"go": "cudaLaunchKernel"}


def test_calls_that_a_device_mirrors_launch_nothing_where_ids_repeat(tmp_path: Path) -> None:
    """Two windows in one file number their calls from 1; a mirrored call is the last before the event."""
    traced = grid.events(
        """
        main calls  [go corr=1]                [go corr=1]
        back calls                                 [go corr=1]
        gpu  kernel     [k corr=1]                     [k corr=1]
        """,
        {"go": "cudaLaunchKernel"},
    )
    for event in traced:
        if event["tid"] == "back":
            event["pid"], event["tid"] = 0, 8
    analysis = load(grid.write(tmp_path / "t.json", traced))
    launch = analysis.device_events.launch
    threads = {analysis.trace.threads[thread].tid for thread in analysis.call_tree.thread[launch]}
    assert threads == {"main"}
    latency = analysis.device_events.start - analysis.call_tree.start[launch]
    assert latency.tolist() == [4000, 8000]


def test_a_device_is_busy_while_any_of_its_streams_is(tmp_path: Path) -> None:
    """Kernels of two streams overlap for some time; each knows its stream by name."""
    picture = """
        gpu  kernel  [a    ]    [a ]
        gpu  kernel     [b    ]
        """
    traced = grid.events(picture, {"a": "a", "b": "b"})
    for event in traced:
        event["tid"] = "stream 7" if event["name"] == "a" else 8
    analysis = load(grid.write(tmp_path / "t.json", traced))
    device_events, threads = analysis.device_events, analysis.trace.threads
    assert [threads[stream].stream for stream in device_events.stream] == ["7", "8", "7"]
    assert list(device_events.busy) == [0]
    start, end = device_events.start.tolist(), device_events.end.tolist()
    assert device_events.busy[0].tolist() == [[start[0], end[1]], [start[2], end[2]]]


def test_a_launch_and_its_events_have_one_number_which_may_be_0(tmp_path: Path) -> None:
    """A call or an operator without a number launches nothing; nor does an operator with one."""
    picture = """
        main ops   [aten::mm corr=3                                ]
        main calls  [go corr=0]  [go     ]  [go corr=2]
        gpu  kernel    [a corr=0] [b     ] [c corr=3]  [d corr=2] [e corr=2]
        """
    analysis = load(grid.write(tmp_path / "t.json", grid.events(picture, GO)))
    launch, tree = analysis.device_events.launch, analysis.call_tree
    started = [int(tree.start[row]) // 1000 - 1000 if row >= 0 else None for row in launch]
    first = picture.splitlines()[2].index("[") - 8
    third = picture.splitlines()[2].rindex("[") - 8
    assert started == [first, None, None, third, third]


def test_events_that_begin_together_stand_as_in_the_file(tmp_path: Path) -> None:
    picture = "\n".join(f"gpu kernel [k{number} ]" for number in range(40))
    analysis = load(grid.write(tmp_path / "t.json", grid.events(picture)))
    assert analysis.device_events.event.tolist() == list(range(40))


@pytest.mark.parametrize(
    ("pid", "stated", "device"), [(3, None, 3), (3, 5, 5), (0, 0, 0), ("GPU 1", None, -1)]
)
def test_the_device_is_stated_or_the_number_of_the_process(
    tmp_path: Path, pid: int | str, stated: int | None, device: int
) -> None:
    drawn = grid.events("gpu kernel [k ]")
    drawn[0]["pid"] = pid
    if stated is not None:
        drawn[0]["args"]["device"] = stated
    analysis = load(grid.write(tmp_path / "t.json", drawn))
    assert analysis.device_events.device.tolist() == [device]


@pytest.mark.parametrize(
    ("numbers", "repeated"),
    [((1, 2, 3), 0), ((1, 2, 1), 2), ((1, 1, 1), 3), ((1, 2, 2), 2), ((0, 1, 0), 2)],
)
def test_device_events_whose_number_several_calls_have(
    tmp_path: Path, numbers: tuple[int, int, int], repeated: int
) -> None:
    picture = """
        main calls  [go corr={}]            [go corr={}]            [go corr={}]
        gpu  kernel     [k corr={}]              [k corr={}]              [k corr={}]
        """.format(*numbers, *numbers)
    analysis = load(grid.write(tmp_path / "t.json", grid.events(picture, GO)))
    device_events = analysis.device_events
    assert repeated_launches(analysis.trace, analysis.call_tree, device_events) == repeated
    delay = device_events.start - analysis.call_tree.start[device_events.launch]
    assert delay.tolist() == [4000, 5000, 6000]
