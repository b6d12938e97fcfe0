"""What the lanes show: all of the trace, and what the analysis found in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grid
import numpy as np
import pytest
from analysis.owners import NAMES
from drawn import colours, found, shown, timeline_of
from shared_traces import shared_trace

from tb_hookview.analysis.selection import select
from tb_hookview.export.packets import MODULE, backward_slices
from tb_hookview.loading import load
from tb_hookview.report.build import build_report
from tb_hookview.timeline import Timeline
from tb_hookview.timeline import timeline as wire


@pytest.fixture
def training(tmp_path: Path) -> Timeline:
    return timeline_of(tmp_path)


def test_lanes_come_in_the_order_in_which_they_are_read(training: Timeline) -> None:
    kinds = [entry.kind for entry in training.entries]
    assert kinds[:2] == ["steps", "path"]
    assert kinds[2:] == ["device", "idle", "queue", "forward", "backward", "host", "host"]
    assert [training.entries[n].title for n in (7, 8)] == ["main thread", "autograd thread"]


def test_threads_are_called_by_what_they_were_for(tmp_path: Path) -> None:
    timeline = timeline_of(
        tmp_path,
        """
        aux  ops    [x] [x] [x] [x] [x] [x] [x] [x]
        load notes  [data ]
        auto ops                      [m' seq=4 F=1 ]
        main ops    [fc           ]
        main ops     [mm seq=4   ]
        """,
        {"data": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"},
    )
    titles = [(timeline.entries[n].title, timeline.entries[n].subtitle) for n in (4, 5, 6, 7)]
    assert titles == [
        ("main thread", "main"),
        ("autograd thread", "auto"),
        ("data thread", "load"),
        ("thread", "aux"),
    ]


def test_steps_and_their_phases(training: Timeline) -> None:
    assert shown(training, "steps") == [
        (0, "ProfilerStep#3", 0, 71),
        (1, "forward", 1, 35),
        (1, "backward", 36, 50),
        (1, "backward", 51, 65),
        (1, "optimizer", 65, 71),
    ]
    assert colours(training, "steps") == {
        "ProfilerStep#3": "other",
        "forward": "forward",
        "backward": "backward",
        "optimizer": "optimizer",
    }


def test_a_phase_goes_on_over_short_pauses_and_ends_where_a_step_does(tmp_path: Path) -> None:
    def event(name: str, start: int, end: int, cat: str = "user_annotation") -> dict[str, Any]:
        times = {"ts": start, "dur": end - start, "pid": 1, "tid": 1}
        return {"ph": "X", "cat": cat, "name": name, **times}

    forward = [(10, 200), (209, 400), (411, 995), (1004, 1500), (1700, 1999)]
    rows = [event("ProfilerStep#1", 0, 1000), event("ProfilerStep#2", 1000, 2000)]
    rows += [event(NAMES["fc"], start, end) for start, end in forward]
    timeline = Timeline(load(grid.write(tmp_path / "t.json", rows)))
    assert shown(timeline, "steps")[2:] == [
        (1, "forward", 10, 400),
        (1, "forward", 411, 995),
        (1, "forward", 1004, 1500),
        (1, "forward", 1700, 1999),
    ]
    stretch = found(timeline, "steps", "forward")
    assert (stretch.duration, stretch.self_us) == (390, 381)


def test_modules_are_called_on_one_lane_and_run_backward_on_another(training: Timeline) -> None:
    assert shown(training, "forward") == [
        (0, "(root)", 1, 35),
        (1, "fc", 2, 18),
        (1, "relu", 19, 35),
    ]
    assert shown(training, "backward") == [
        (0, "(root)", 36, 65),
        (1, "relu", 36, 50),
        (1, "fc", 51, 65),
    ]


MEETING_AGAIN = """
    main ops [root                  ]
    main ops  [fc     ] [relu     ]
    main ops  [m seq=4] [r seq=5]
    auto ops                         [m' seq=4 F=1][m' seq=4 F=1][r' seq=5 F=1][m' seq=4 F=1]
"""


def test_a_module_ends_where_another_comes_between(tmp_path: Path) -> None:
    evaluated = "autograd::engine::evaluate_function: "
    names = {"m'": f"{evaluated}MmBackward0", "r'": f"{evaluated}ReluBackward0"}
    timeline = timeline_of(tmp_path, MEETING_AGAIN, names)
    assert shown(timeline, "backward") == [
        (0, "(root)", 24, 80),
        (1, "fc", 24, 52),
        (1, "relu", 52, 66),
        (1, "fc", 66, 80),
    ]


def test_a_forward_that_runs_again_is_called_recomputed(tmp_path: Path) -> None:
    timeline = timeline_of(
        tmp_path,
        """
        main ops   [root                                      ]
        main ops    [fc              ]  [relu              ]
        main ops     [aten::mm seq=4]    [aten::r seq=5    ]
        auto ops                                               [relu' seq=5 F=1                ]
        auto ops                                                   [fc                 ]
        """,
    )
    assert shown(timeline, "backward") == [
        (0, "(root)", 44, 77),
        (1, "relu", 44, 77),
        (2, "fc, recomputed", 48, 69),
    ]
    assert len(shown(timeline, "forward")) == 3


def test_colours_are_those_of_phases(training: Timeline) -> None:
    host = colours(training, "host")
    assert host["aten::mm"] == "forward"
    assert host["Optimizer.step#Adam.step"] == "optimizer"
    assert set(colours(training, "host", 1).values()) == {"backward"}
    lane = training.lane(training.lanes_of("device")[0])
    assert lane.colour.tolist() == [0, 1, 1]


def test_a_sync_that_makes_the_device_idle_stands_out(tmp_path: Path) -> None:
    timeline = timeline_of(
        tmp_path,
        """
        main ops   [root                                  ]
        main calls   [go corr=1][sy          ]  [go corr=2]
        gpu  kernel    [gemm corr=1         ]         [gemm corr=2]
        """,
    )
    assert colours(timeline, "host")["cudaStreamSynchronize"] == "wait"


def test_a_sync_that_costs_nothing_does_not_stand_out(tmp_path: Path) -> None:
    """The device works all the while, and goes on at once."""
    timeline = timeline_of(
        tmp_path,
        """
        main ops   [root                                ]
        main ops    [fc                                ]
        main calls   [go corr=1][go corr=2][sy        ]
        gpu  kernel    [gemm corr=1              ][gemm corr=2]
        """,
    )
    assert colours(timeline, "host")["cudaStreamSynchronize"] == "idle"
    assert colours(timeline, "forward") == {"(root)": "forward", "fc": "forward"}


def test_device_events_of_a_collective_have_a_colour_of_their_own(tmp_path: Path) -> None:
    timeline = timeline_of(
        tmp_path,
        """
        main ops    [aten::mm      ]
        main calls   [go corr=1] [go corr=2]
        gpu  kernel     [gemm corr=1]  [nccl corr=2]
        """,
        {"nccl": "ncclDevKernel_AllReduce_Sum_f32_RING_LL"},
    )
    nccl = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
    assert colours(timeline, "device") == {"volta_sgemm_64x64_nt": "other", nccl: "communication"}


def test_a_module_that_mostly_waits_stands_out_and_those_around_it_do_not(tmp_path: Path) -> None:
    timeline = timeline_of(
        tmp_path,
        """
        main ops   [root                                   ]
        main ops    [fc            ] [rl                  ]
        main ops     [mm seq=4   ]    [r seq=5 ]
        main calls     [sy      ]                [sy     ]
        auto ops                                            [m' seq=4 F=1 ][r' seq=5 F=1]
        auto calls                                           [sy      ]      [sy ]
        """,
    )
    forward, backward = colours(timeline, "forward"), colours(timeline, "backward")
    assert forward == {"(root)": "forward", "fc": "wait", "relu": "forward"}
    assert backward == {"(root)": "backward", "fc": "wait", "relu": "backward"}


def test_python_frames_have_a_lane_and_the_colour_of_the_phase_around_them(tmp_path: Path) -> None:
    timeline = timeline_of(
        tmp_path,
        """
        main python  [train                               ]
        main python    [Linear                ]  [log   ]
        main python      [call               ]
        main ops           [aten::mm seq=4]
        """,
        {"train": "train.py(3): main", "call": "nn.py(9): forward", "log": "log.py(1): put"},
    )
    host, python = timeline.lanes_of("host")
    assert [timeline.entries[n].subtitle for n in (host, python)] == ["main", "Python stack, main"]
    assert [row[:2] for row in shown(timeline, "host", 1)] == [
        (0, "train.py(3): main"),
        (1, "nn.Module: Linear_0"),
        (1, "log.py(1): put"),
        (2, "nn.py(9): forward"),
    ]
    assert colours(timeline, "host", 1) == {
        "train.py(3): main": "other",
        "nn.Module: Linear_0": "forward",
        "log.py(1): put": "other",
        "nn.py(9): forward": "forward",
    }


@pytest.mark.parametrize(
    "name", ["tracelens_mi300_normalization", "tracelens_mi300_resnet_checkpointing"]
)
def test_an_export_shows_the_same_stretches(name: str) -> None:
    timeline = Timeline(load(shared_trace(name)))
    (number,) = timeline.lanes_of("backward")
    lane, texts = timeline.lane(number), timeline.names.texts
    stretch = lane.name < timeline.names.recomputed
    columns = (lane.start[stretch], lane.end[stretch], lane.name[stretch])
    found = sorted(
        (s, e, texts[n]) for s, e, n in zip(*map(np.ndarray.tolist, columns), strict=True)
    )
    exported = backward_slices(select(timeline.analysis, None)).values()
    slices = [piece for pieces in exported for piece in pieces if piece.category == MODULE]
    assert found == sorted((piece.start, piece.end, piece.name) for piece in slices)


def test_a_module_s_stretches_hold_its_nodes_and_no_others() -> None:
    timeline = Timeline(load(shared_trace("tracelens_mi300_resnet_checkpointing_ddp")))
    analysis, call_tree = timeline.analysis, timeline.analysis.call_tree
    nodes, owner = analysis.nodes, analysis.attribution.node_module
    (number,) = timeline.lanes_of("backward")
    lane, texts = timeline.lane(number), analysis.modules.path
    for module in range(len(texts)):
        mine = lane.name == timeline.names.module + module
        below = (owner >= module) & (owner < analysis.modules.end[module])
        start, end = call_tree.start[nodes.row], call_tree.end[nodes.row]
        for node in np.flatnonzero(below & (nodes.around < 0)).tolist():
            around = mine & (lane.start <= start[node]) & (end[node] <= lane.end)
            assert around.sum() == 1
        for others in np.flatnonzero(~below & (nodes.around < 0)).tolist():
            assert not (mine & (lane.start <= start[others]) & (end[others] <= lane.end)).any()


TRACES_WITH_DEVICES = [
    "tracelens_mi300_resnet_checkpointing_ddp",
    "hta_a100_nccl_training",
    "hta_a100_event_sync_multi_stream",
]


@pytest.mark.parametrize("name", TRACES_WITH_DEVICES)
def test_lanes_are_found_by_the_ids_of_the_report(name: str) -> None:
    analysis = load(shared_trace(name))
    report, lanes = build_report(analysis).data, wire.overview(Timeline(analysis)).lanes
    of_host = {(lane.thread_id, lane.thread) for lane in lanes if lane.kind == "host"}
    assert {(thread.id, thread.thread) for thread in report.threads} <= of_host
    assert {(sync.thread_id, sync.thread) for sync in report.syncs} <= of_host
    of_device = {(lane.stream_id, lane.device, lane.stream) for lane in lanes if lane.stream}
    assert of_device == {(stream.id, stream.device, stream.stream) for stream in report.streams}
    for kind in ("idle", "queue"):
        devices = [lane.device for lane in lanes if lane.kind == kind]
        assert devices == [device.id for device in report.devices]
