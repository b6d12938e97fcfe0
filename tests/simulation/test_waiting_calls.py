"""Calls that wait and are no synchronize: what a quicker device gains, by a replay.

One character is 100 us. The answers are by hand; latencies are 0 in these pictures.
"""

from __future__ import annotations

from pathlib import Path

import grid
import pytest
from rules.diagnosed import Diagnosed
from simulation import drawn
from support.loaded import loaded, reported

from tb_hookview.analysis.selection import Selection
from tb_hookview.loading import load
from tb_hookview.simulation.questions import scaled
from tb_hookview.simulation.simulator import Simulator

STAGED = """
    main notes [ProfilerStep#1                                                           ]
    main calls [launch corr=1][copy corr=2                          ][launch corr=3]
    gpu kernel [k corr=1                           ]                   [k corr=3      ]
    gpu copy                                        [P2D corr=2       ]
"""
"""The call returns as the last piece is staged, 200 us before the copy ends."""
SYNCHRONOUS = """
    main notes [ProfilerStep#1                                                           ]
    main calls [launch corr=1][hipcopy corr=2                       ][launch corr=3]
    gpu kernel [k corr=1                           ]                     [k corr=3      ]
    gpu copy                                             [H2D corr=2    ]
"""
"""The copy begins 500 us after the kernel, and its row ends 400 us after its call."""
FREE = """
    main notes [ProfilerStep#1                                                           ]
    main calls [launch corr=1][free                        ][launch corr=2]
    gpu kernel [k corr=1                           ]        [k corr=2                    ]
"""
"""It takes 800 us of its own after the kernel."""
REST = {STAGED: 21, SYNCHRONOUS: 21, FREE: 30}
"""From the return of the call to the end of the step."""


@pytest.mark.parametrize(
    ("picture", "half", "none"),
    [
        (STAGED, 18.5 + 9.5 - 2, 15),
        (SYNCHRONOUS, 18.5 + 5 + 8 - 4, 15 + 5),
        (FREE, 18.5 + 8, 15 + 8),
    ],
)
def test_the_host_goes_on_as_the_device_is_done(
    tmp_path: Path, picture: str, half: float, none: float
) -> None:
    """At half of the device's time, and at none of it: then the call's own work is left."""
    simulator = drawn.simulator(tmp_path, picture)
    assert simulator.unchanged.step == simulator.recorded.step == 75 * 100_000
    for factor, returned in ((0.5, half), (0, none)):
        predicted = simulator.step(scaled(simulator.analysis, {"kernels": factor}))
        assert predicted == (returned + REST[picture]) * 100_000


@pytest.mark.parametrize(("factor", "returned"), [(0.5, 9.5 - 2), (0.1, 0), (0, 0)])
def test_a_call_returns_no_earlier_than_its_copy_begins(
    tmp_path: Path, factor: float, returned: float
) -> None:
    """Of a copy that lasts less than the call was early, the path goes from start to start."""
    another_stream = STAGED.replace("  [k corr=3      ]", "[k corr=3 stream=8]")
    simulator = drawn.simulator(tmp_path, another_stream)
    copy = "kernel:Memcpy HtoD (Pageable -> Device)"
    prediction = simulator.predict(scaled(simulator.analysis, {copy: factor, "host": 0}))
    path = prediction.path
    assert prediction.step == (path.end - path.start).sum() == (37 + returned + 19) * 100_000


JOINED = """
    main notes [ProfilerStep#1                                                   ]
    main calls [copy corr=1   ][wait      ][launch corr=2][wait                 ]
    gpu  copy  [D2P corr=1   ]
    gpu  kernel                            [k corr=2                          ]
"""
"""The copy had ended 13 us before the first wait returned, and the kernel 2 us before the other."""


def test_a_wait_right_after_a_copy_that_held_the_host_tells_nothing_of_others(
    tmp_path: Path,
) -> None:
    """One character is 1 us."""
    events = grid.events(JOINED, drawn.NAMES)
    for event in events:
        event["tid"] = 7 if event["cat"] in ("kernel", "gpu_memcpy") else event["tid"]
    simulator = Simulator(Selection(load(grid.write(tmp_path / "t.json", events)), None))
    assert simulator.unchanged.step == simulator.recorded.step


@pytest.mark.slow
@pytest.mark.parametrize(
    ("trace", "rule", "gain_ms"),
    [
        ("tracelens_mi300_owlv2", "attention-unfused", 172),
        ("param_rtx2080ti_resnet", "tensor-cores-unused", 680 / 30),  # of 30 iterations
        ("kineto_resnet50_num_workers_4/worker0.1623213129365", "tensor-cores-unused", 5),
    ],
)
def test_gains_of_the_device_where_only_copies_wait(trace: str, rule: str, gain_ms: float) -> None:
    """Within a third of what a replay of one stream and one host thread gives."""
    (found,) = Diagnosed(loaded(trace))[rule]
    assert found.gain_us_per_step == pytest.approx(1000 * gain_ms, rel=1 / 3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("trace", "blocked_ms", "share_of_kernels"),
    [
        ("tracelens_mi300_owlv2", 180.8, 0.161),
        ("param_rtx2080ti_resnet", 2010.2, 0.146),
        ("kineto_resnet50_num_workers_4/worker0.1623213129365", 45.8 + 5 * 8.1, 0.062),
        ("kineto_2021_resnet50_autograd_api", 424.4 + 14.4, 0.059),
    ],
)
def test_time_blocked_and_what_the_device_decides(
    trace: str, blocked_ms: float, share_of_kernels: float
) -> None:
    """Over all steps, the first of which warms up.

    Of the last trace its synchronizes, and six copies of 2.2 to 2.6 ms.
    """
    analysis, steps = loaded(trace), reported(trace).data.steps
    blocked = sum(step.sync_blocked_us or 0 for step in steps)
    assert blocked == pytest.approx(1000 * blocked_ms, rel=0.01)
    simulator = Simulator(Selection(analysis, tuple(range(len(steps)))))
    nothing = simulator.step(scaled(simulator.analysis, {"kernels": 0}))
    assert 1 - nothing / simulator.unchanged.step == pytest.approx(share_of_kernels, abs=0.002)
