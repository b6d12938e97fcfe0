"""Waits of the caching allocator that the trace has no call for."""

from __future__ import annotations

from pathlib import Path

import grid
import numpy as np
import pytest
from simulation.drawn import events, simulator

from tb_hookview.analysis.dependencies.graph import EdgeKind
from tb_hookview.analysis.selection import Selection
from tb_hookview.loading import load
from tb_hookview.simulation.alone import Alone
from tb_hookview.simulation.simulator import Simulator

STEP = """
    main notes  [s0                                                             ]
    main ops    [mm            ][cat                                           ]
    main calls   [launch corr=1] [cudaMalloc]             [cudaFree  ][launch corr=2]
    gpu  kernel        [nccl corr=1                      ]               [k corr=2]
    """


def test_the_wait_is_no_work_of_the_host(tmp_path: Path) -> None:
    """1.3 ms pass between the two calls; the kernel ends with them."""
    waits = Alone(simulator(tmp_path, STEP))
    (retry,) = waits.simulator.analysis.retries.row.tolist()
    assert waits.simulator.analysis.host.name(retry) == "cudaFree"
    edges = waits.simulator.graph.edges
    (edge,) = np.flatnonzero(edges.kind == EdgeKind.SYNC)
    assert waits.simulator.graph.nodes.event[edges.source[edge]] == 0
    works = Alone(simulator(tmp_path, STEP.replace("cudaFree  ", "cudaMalloc")))
    assert not len(works.simulator.analysis.retries.row)
    assert works.each["host"] - waits.each["host"] == pytest.approx(1_300_000)


DRIFTS = """
    main notes  [s0                                                                               ]
    main ops    [mm            ][cat                                           ]
    main calls   [launch corr=1] [cudaMalloc]             [cudaFree  ][launch corr=2][launch corr=3]
    gpu  kernel        [nccl corr=1                      ]            [k corr=2]      [k corr=3]
    """


def test_the_wait_ends_later_by_as_much_as_the_clocks_differ(tmp_path: Path) -> None:
    """Two kernels begin and end 80 us early, the second one before its launch."""
    drawn = events(DRIFTS)
    for event in drawn:
        early = event["cat"] == "kernel" and event["args"]["correlation"] < 3
        event["ts"] -= 80 * early
    graph = Simulator(Selection(load(grid.write(tmp_path / "t.json", drawn)), None)).graph
    (edge,) = np.flatnonzero(graph.edges.kind == EdgeKind.SYNC)
    assert graph.nodes.event[graph.edges.source[edge]] == 0
    assert not graph.pause[graph.nodes.event < 0].any()
