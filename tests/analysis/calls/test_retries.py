"""Waits of the caching allocator that the trace has no call for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from simulation.drawn import simulator

from tb_hookview.analysis.dependencies.graph import EdgeKind
from tb_hookview.simulation.alone import Alone

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
