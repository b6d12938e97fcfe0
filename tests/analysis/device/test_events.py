"""Pictures of launches: which call of the host each device event belongs to."""

from __future__ import annotations

from pathlib import Path

import grid

from tb_hookview.loading import load


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
