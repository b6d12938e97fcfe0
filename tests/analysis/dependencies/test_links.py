"""Links between rows: what launched, what made, what waited for what, and what shows it."""

from __future__ import annotations

from pathlib import Path

import pytest
from simulation import drawn

from tb_hookview.analysis.dependencies.graph import row_links, wait_links
from tb_hookview.simulation.simulator import Simulator

WAITS = """
    main notes                [ProfilerStep#1                                                ]
    main calls [launch corr=1][wait ][launch corr=2]       [order ][launch corr=3][wait      ]
    gpu kernel [k corr=1       ]     [j corr=2 stream=7           ]
    gpu kernel                                                     [m corr=3 stream=9 ]
"""
"""Of the first kernel the step has only the wait: it was launched before."""
NODES = """
    main notes [ProfilerStep#1                                                 ]
    main ops     [aten::mm seq=4]    [MmBackward0 seq=4 F=1]
    main calls   [launch corr=1 ]
    gpu kernel     [k corr=1]
"""

Shown = list[tuple[str, str, str, str]]


def named(simulator: Simulator, *, graph: bool = True) -> Shown:
    """Kind, evidence, and names of both ends of all links."""
    analysis = simulator.analysis
    events, texts = analysis.trace.events, analysis.trace.strings
    waits = wait_links(analysis, simulator.graph if graph else None)
    return [
        (links.kind, links.evidence, texts[events.name[source]], texts[events.name[target]])
        for links in (*row_links(analysis), *waits)
        for source, target in zip(links.source.tolist(), links.target.tolist(), strict=True)
    ]


LAUNCHES = [("launch", "correlation id", "cudaLaunchKernel", name) for name in ("k", "j", "m")]


def test_waits_are_those_of_the_graph(tmp_path: Path) -> None:
    """What the first wait was for was launched before the step; times show it all the same."""
    found = named(drawn.simulator(tmp_path, WAITS))
    assert sorted(found) == sorted(
        [
            *LAUNCHES,
            ("cross_stream", "calls of the runtime", "j", "m"),
            ("sync", "calls of the runtime", "k", "cudaStreamSynchronize"),
            ("sync", "calls of the runtime", "m", "cudaStreamSynchronize"),
        ]
    )


def test_without_a_graph_waits_are_known_by_their_times(tmp_path: Path) -> None:
    found = named(drawn.simulator(tmp_path, WAITS), graph=False)
    assert sorted(found) == sorted(
        [
            *LAUNCHES,
            ("sync", "times", "k", "cudaStreamSynchronize"),
            ("sync", "times", "m", "cudaStreamSynchronize"),
        ]
    )


def test_what_was_done_before_a_sync_was_not_waited_for(tmp_path: Path) -> None:
    early = WAITS.replace("[m corr=3 stream=9 ]", "[m corr=3]".ljust(20))
    early = early.replace("corr=3]", "corr=3 stream=9]").replace("corr=3 stream=9][w", "corr=3][w")
    found = named(drawn.simulator(tmp_path, early))
    assert ("sync", "calls of the runtime", "m", "cudaStreamSynchronize") in found
    short = WAITS.replace("[m corr=3 stream=9 ]", "[m corr=3 stream=9]").replace(
        "[launch corr=3][wait      ]", "[launch corr=3]     [wait ]"
    )
    found = named(drawn.simulator(tmp_path, short))
    assert not [link for link in found if link[0] == "sync" and link[2] == "m"]


def test_a_node_and_the_operator_that_made_it(tmp_path: Path) -> None:
    found = named(drawn.simulator(tmp_path, NODES))
    assert ("autograd", "sequence number", "aten::mm", "MmBackward0") in found


def test_a_node_known_by_a_flow(tmp_path: Path) -> None:
    """Arrows of the profiler, in a trace without sequence numbers."""
    picture = NODES.replace(" seq=4 F=1", "").replace(" seq=4", "")
    begin, end = (
        {"ph": phase, "id": 5, "cat": "fwdbwd", "name": "fwdbwd", "pid": 77, "tid": "main"}
        for phase in "sf"
    )
    rows = {event["name"]: event["ts"] for event in drawn.events(picture)}
    begin["ts"], end["ts"], end["bp"] = rows["aten::mm"], rows["MmBackward0"], "e"
    found = named(drawn.simulator(tmp_path, picture, begin, end))
    assert ("autograd", "flow", "aten::mm", "MmBackward0") in found


@pytest.mark.parametrize("graph", [True, False])
def test_each_link_is_there_once(graph: bool, tmp_path: Path) -> None:
    found = named(drawn.simulator(tmp_path, WAITS), graph=graph)
    assert len(set(found)) == len(found)
