"""Pictures of launches: which call of the host each device event belongs to."""

from __future__ import annotations

from pathlib import Path

import grid

from tb_hookview.loading import load


def test_calls_that_a_device_mirrors_launch_nothing_where_ids_repeat(tmp_path: Path) -> None:
    """Two windows in one file number their calls from 1; a mirrored call is the last before work."""
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
