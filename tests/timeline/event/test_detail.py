"""One event: whose it is, what is around it, what it has to do with others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from drawn import chained, found, linked, timeline_of
from shared_traces import shared_trace

from tb_hookview.analysis.selection import select
from tb_hookview.errors import NotFoundError
from tb_hookview.loading import load
from tb_hookview.report.tables.syncs import sync_rows
from tb_hookview.timeline import Timeline
from tb_hookview.timeline.event.detail import detail

RELU = "autograd::engine::evaluate_function: ReluBackward0"
GEMM = "volta_sgemm_64x64_nt"
LAUNCH = "cudaLaunchKernel"


@pytest.fixture
def training(tmp_path: Path) -> Timeline:
    return timeline_of(tmp_path)


def test_an_operator_leads_to_its_node_device_events_and_module(training: Timeline) -> None:
    operator = found(training, "host", "aten::mm")
    assert operator.category == "operator"
    assert (operator.start, operator.duration, operator.self_us) == (3, 14, 3)
    assert operator.device_us == 13
    assert (operator.thread, operator.step) == ("main", "ProfilerStep#3")
    assert (operator.phase, operator.module, operator.node) == ("forward", "fc", None)
    assert chained(operator) == [("module", "fc"), ("module", "(root)")]
    node = "autograd::engine::evaluate_function: MmBackward0"
    assert linked(operator) == [("forward of", node), ("launches", GEMM)]
    assert operator.args == {"Sequence number": "4"}


def test_a_node_leads_to_the_operator_that_made_it(training: Timeline) -> None:
    node = found(training, "host", RELU, 1)
    assert (node.phase, node.module, node.node) == ("backward", "relu", "ReluBackward0")
    assert (node.evidence, node.no_module) == ("sequence", None)
    assert linked(node) == [("backward of", "aten::relu"), ("launches", "relu_kernel")]


def test_a_device_event_leads_to_its_launch(training: Timeline) -> None:
    event = found(training, "device", "relu_kernel")
    assert (event.thread, event.device, event.stream) == (None, "0", "7")
    assert (event.phase, event.module, event.node) == ("backward", "relu", "ReluBackward0")
    assert chained(event) == [("call", LAUNCH), ("node", "ReluBackward0"), ("module", "relu")]
    assert linked(event) == [("launched by", LAUNCH)]


def test_a_wait_leads_to_what_it_waited_for_and_back(training: Timeline) -> None:
    wait = found(training, "host", "cudaStreamSynchronize")
    assert linked(wait) == [("waits for", GEMM)]
    (link,) = wait.links
    event = detail(training, link.id)
    assert linked(event) == [("launched by", LAUNCH), ("waited for by", "cudaStreamSynchronize")]
    assert event.start == link.start == 56


def test_a_module_leads_from_forward_to_backward_and_back(training: Timeline) -> None:
    call, stretch = found(training, "forward", "fc"), found(training, "backward", "fc")
    assert (call.category, stretch.category) == ("module", "module_backward")
    assert linked(call) == [("forward of", "fc"), ("launches", GEMM)]
    assert linked(stretch) == [("backward of", "fc"), ("launches", GEMM)]
    assert call.links[0].id == stretch.id
    assert stretch.links[0].id == call.id
    assert (call.device_us, stretch.device_us) == (13, 13)


def test_idle_time_leads_to_its_cause(training: Timeline) -> None:
    """What is idle before the first launch has no call as its cause."""
    before = found(training, "idle", "launch-bound")
    assert linked(before) == [("ended by", GEMM)]
    idle = found(training, "idle", "launch-bound", place=1)
    assert linked(idle) == [("caused by", LAUNCH), ("ended by", GEMM)]
    call = detail(training, idle.links[0].id)
    assert ("left idle", "launch-bound") in linked(call)


def test_a_step_and_a_phase_report_their_times(training: Timeline) -> None:
    assert found(training, "steps", "ProfilerStep#3").category == "step"
    backward = found(training, "steps", "backward")
    assert (backward.category, backward.phase) == ("phase", "backward")
    assert (backward.duration, backward.self_us) == (14, 14)


def test_lines_of_python_are_those_of_the_forward(tmp_path: Path) -> None:
    timeline = timeline_of(
        tmp_path,
        """
        main python  [train                 ]
        main python    [Linear             ]
        main python      [call            ]
        main ops          [aten::mm seq=4]
        auto ops                              [mm' seq=4 F=1   ]
        auto calls                              [go corr=2]
        gpu  kernel                                 [gemm corr=2]
        """,
        {"train": "train.py(3): main", "call": "nn.py(9): forward"},
    )
    lines = [("line", "nn.py(9): forward"), ("line", "train.py(3): main")]
    event = found(timeline, "device", GEMM)
    assert chained(event)[-2:] == lines
    assert [link.id is None for link in event.chain] == [False] * 2 + [True] + [False] * 2
    assert chained(found(timeline, "host", "aten::mm"))[-2:] == lines
    assert chained(found(timeline, "host", "nn.py(9): forward", 1)) == lines[1:]


def test_an_id_of_no_event_is_not_found(training: Timeline) -> None:
    rows, queue = len(training.analysis.trace.events), training.lanes_of("queue")[0]
    steps, lanes = 1 << 32, len(training.entries)
    assert detail(training, steps).category == "step"
    for event in (-1, rows, steps + 99, (queue + 1) << 32, (lanes + 1) << 32, 1 << 52):
        with pytest.raises(NotFoundError):
            detail(training, event)


def test_of_many_links_the_first_are_listed_and_the_rest_counted(tmp_path: Path) -> None:
    timeline = Timeline(load(shared_trace("tracelens_mi300_vllm_graph_execution")))
    events = timeline.analysis.device_events
    launch, sizes = np.unique(events.launch[events.launch >= 0], return_counts=True)
    row = int(launch[np.argmax(sizes)])
    graph = detail(timeline, int(timeline.analysis.call_tree.event[row]))
    launched = [link for link in graph.links if link.relation == "launches"]
    assert len(graph.links) == 200
    assert graph.links_omitted + len(launched) == sizes.max()


def test_long_texts_are_cut(tmp_path: Path) -> None:
    timeline = timeline_of(tmp_path, "main ops [op] [fn  ]", {"op": "x" * 20_000, "fn": "y" * 300})
    assert len(found(timeline, "host", "x" * 20_000).name) == 10_000
    assert len(found(timeline, "host", "y" * 300).name) == 300


def test_chains_of_waits_are_those_of_the_report() -> None:
    analysis = load(shared_trace("tracelens_mi300_sd35_with_stacks"))
    timeline = Timeline(analysis)
    rows = sync_rows(select(analysis, None), [""] * len(analysis.syncs))
    events = analysis.call_tree.event[analysis.syncs.row].tolist()
    for event, row in zip(events, rows, strict=True):
        shown = detail(timeline, event)
        lines = [link.text for link in shown.chain if link.kind == "line"]
        assert lines == row.stack
        assert (shown.phase, shown.module, shown.node) == (row.phase, row.module, row.node)
        waited = {link.id for link in shown.links if link.relation == "waits for"}
        expected = set() if row.waited_for is None else {row.waited_for.event_id}
        assert expected <= waited
