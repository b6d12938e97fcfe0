"""The critical path next to what was recorded: its pieces, what they lead to, why there is none."""

from __future__ import annotations

from pathlib import Path

import grid
import numpy as np
import pytest
from drawn import colours, found, shown
from support.loaded import loaded

from tb_hookview.loading import load
from tb_hookview.schema.timeline import EventDetail
from tb_hookview.simulation.whatif import path_time
from tb_hookview.timeline import Timeline
from tb_hookview.timeline import timeline as wire
from tb_hookview.timeline.lanes.lane import Colour

WORDS = {
    "launch": "cudaLaunchKernel",
    "wait": "cudaStreamSynchronize",
    "loader": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
    "mm": "aten::mm",
    "item": "aten::item",
    "gemm": "volta_sgemm_64x64_nt",
    "nccl": "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
}
# The host loads and launches, the device works, the host waits for that.
WAITS = """
    main notes  [ProfilerStep#1                                       ]
    main notes   [loader ]
    main ops              [mm                ]  [item              ]
    main calls              [launch corr=1]       [wait            ]
    gpu  kernel                     [gemm corr=1              ]
"""
MIXED = ["hta_sampled_rank-0", "hta_a100_nccl_training", "tracelens_h100_bert_small"]


def drawn(folder: Path, picture: str) -> Timeline:
    traced = grid.events(picture, WORDS)
    return Timeline(load(grid.write(folder / "t.json", traced)))


def linked(event: EventDetail) -> list[tuple[str, str, str | None, str | None]]:
    return [(link.relation, link.name, link.kind, link.evidence) for link in event.links]


def test_pieces_follow_one_another_and_have_the_names_of_what_ran(tmp_path: Path) -> None:
    timeline = drawn(tmp_path, WAITS)
    assert shown(timeline, "path") == [
        (0, "host", 0, 1),
        (0, "data loading", 1, 10),
        (0, "aten::mm", 10, 12),
        (0, "launch latency", 12, 20),
        (0, "volta_sgemm_64x64_nt", 20, 47),
        (0, "return of the sync", 47, 52),
        (0, "host", 52, 55),
    ]
    assert colours(timeline, "path") == {
        "data loading": "data",
        "aten::mm": "host",
        "launch latency": "latency",
        "volta_sgemm_64x64_nt": "device",
        "return of the sync": "latency",
        "host": "host",
    }


def test_long_host_work_is_named_by_what_holds_it_and_not_by_the_copy_after_it(
    tmp_path: Path,
) -> None:
    """A quarter of a second in `preprocess` ends with a short operator that launches."""
    words = {
        "launch": "cudaLaunchKernel",
        "copy": "aten::copy_",
        "work": "video.py(235): preprocess",
    }
    traced = grid.events(
        """
        main notes  [ProfilerStep#1                              ]
        main python  [work                         ]
        main ops                                [copy        ]
        main calls                                [launch corr=1]
        gpu  kernel                                     [k corr=1]
        """,
        words,
    )
    for event in traced:
        for key in ("ts", "dur"):
            event[key] = 10_000 * event.get(key, 0)
    timeline = Timeline(load(grid.write(tmp_path / "t.json", traced)))
    assert "video.py(235): preprocess" in [name for _, name, _, _ in shown(timeline, "path")]


def test_a_piece_leads_to_what_ran_and_to_the_ends_of_its_edge(tmp_path: Path) -> None:
    timeline = drawn(tmp_path, WAITS)
    kernel = found(timeline, "path", "volta_sgemm_64x64_nt")
    assert (kernel.category, kernel.stream) == ("critical_path", "7")
    how = ("sync", "calls of the runtime")
    assert linked(kernel) == [
        ("runs", "volta_sgemm_64x64_nt", None, None),
        ("leads to", "cudaStreamSynchronize", *how),
    ]
    host = found(timeline, "path", "aten::mm")
    assert linked(host)[0] == ("runs", "aten::mm", None, None)
    assert linked(host)[-1] == ("leads to", "cudaLaunchKernel", "host", "order")
    back = found(timeline, "path", "return of the sync")
    assert ("follows", "volta_sgemm_64x64_nt", *how) in linked(back)
    assert [link.text for link in host.chain][:2] == ["cudaLaunchKernel", "aten::mm"]


def test_a_trace_that_is_not_replayed_says_why_in_a_line(tmp_path: Path) -> None:
    timeline = drawn(tmp_path, WAITS.replace("gemm corr=1", "gemm       "))
    (number,) = timeline.lanes_of("path")
    row = wire.lane_row(timeline, number)
    assert row.note is not None
    assert "launches of 0%" in row.note
    assert "\n" not in row.note
    assert wire.window(timeline, [number], 0, 50_000, 100).lanes == []


def test_neither_overview_nor_search_makes_the_lane(tmp_path: Path) -> None:
    timeline = drawn(tmp_path, WAITS)
    row = wire.overview(timeline).lanes[1]
    assert (row.kind, row.events, row.note) == ("path", None, None)
    assert "graph" not in vars(timeline.path.simulator)


@pytest.mark.parametrize("name", MIXED)
def test_the_lane_has_no_holes_and_is_the_replay_but_for_its_error(name: str) -> None:
    timeline = Timeline(loaded(name))
    lane = timeline.lane(1)
    assert lane.rows == 1
    np.testing.assert_array_equal(lane.start[1:], lane.end[:-1])
    simulator = timeline.path.simulator
    steps = len(simulator.window.steps)
    length = (lane.end - lane.start) / 1000 / steps
    assert length.sum() == pytest.approx(simulator.recorded.step / 1000, rel=1e-6)
    of_replay = path_time(simulator.unchanged)
    parts = {
        Colour.HOST: of_replay.host,
        Colour.DEVICE: of_replay.device,
        Colour.COMMUNICATION: of_replay.communication,
        Colour.LATENCY: of_replay.wait,
        Colour.DATA: of_replay.data,
        Colour.UNEXPLAINED: of_replay.unexplained,
    }
    for colour, us in parts.items():
        drawn_us = length[lane.colour == colour].sum()
        assert drawn_us == pytest.approx(us, abs=0.03 * length.sum()), colour
