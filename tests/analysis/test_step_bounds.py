"""Pictures of steps with time of the recording at their ends; one character is 1 ms."""

from __future__ import annotations

from pathlib import Path

import grid
import pytest
from support.loaded import loaded, reported

from tb_hookview.analysis.selection import Selection
from tb_hookview.loading import load
from tb_hookview.report.build import build_report
from tb_hookview.schema import ReportData
from tb_hookview.simulation.simulator import Simulator

NAMES = {
    "s1": "ProfilerStep#1",
    "s2": "ProfilerStep#2",
    "s3": "ProfilerStep#3",
    "launch": "cudaLaunchKernel",
    "waitall": "cudaDeviceSynchronize",
    "event": "cudaEventSynchronize",
    "fc": "nn.Module: Linear_0",
    "frame": "torch/cuda/__init__.py(1040): synchronize",
}


def data_of(folder: Path, picture: str) -> ReportData:
    events = grid.events(picture, NAMES)
    for event in events:
        event["ts"], event["dur"] = event["ts"] * 1000, event["dur"] * 1000
    return build_report(load(grid.write(folder / "t.json", events))).data


def lengths(data: ReportData) -> list[tuple[float, float]]:
    """Length of each step, and what is left out of its mark; milliseconds."""
    return [(step.duration_us / 1000, step.left_out_us / 1000) for step in data.steps]


def test_a_wait_for_what_was_launched_before_the_recording(tmp_path: Path) -> None:
    """The kernel without a launch is from before; the step begins as the host goes on."""
    data = data_of(
        tmp_path,
        """
        main notes [s1                                                        ]
        main calls   [waitall corr=2]        [launch corr=3]
        main ops                      [aten::mm            ]
        gpu  kernel [k             ]                 [k corr=3]
        """,
    )
    assert lengths(data) == [(42, 18)]
    (warning,) = [row for row in data.trace.warnings if row.code == "left-out-of-steps"]
    assert (warning.count, warning.severity) == (1, "low")
    assert "18.0 ms in all" in warning.message
    assert data.per_step.duration_us == 42_000


def test_a_wait_left_out_of_a_trace_without_marks_is_in_no_figure(tmp_path: Path) -> None:
    data = data_of(
        tmp_path,
        """
        main python [fc                                               ]
        main calls   [event][waitall]        [launch corr=3][waitall ]
        main ops                      [aten::mm            ]            [aten::add]
        gpu  kernel [k             ]                 [k corr=3    ]
        """,
    )
    (step,), means, totals = data.steps, data.per_step, data.totals
    assert (step.sync_blocked_us, means.sync_blocked_us, means.sync_count) == (10_000, 10_000, 1)
    assert (totals.sync_count, totals.sync_blocked_us, len(data.syncs)) == (1, 10_000, 1)
    (module,) = (module for module in data.modules if module.path)
    assert (module.sync.count, module.sync.blocked_us) == (1, 10_000)
    assert module.forward.host_us == 51_000 - 16_000


@pytest.mark.parametrize(("idle", "left_out"), [(0, 54), (60, 0)])
def test_a_wait_before_the_first_launch_is_for_work_from_before(
    tmp_path: Path, idle: int, left_out: float
) -> None:
    """Nothing shows that work. If most of the step is something else, it stays whole."""
    before = " " * idle
    data = data_of(
        tmp_path,
        f"""
        main notes  [s1         {before}                                                               ]
        main ops    [aten::zeros]
        main calls               {before}[waitall                                ]      [launch corr=3]
        main python             {before}[synchronize                              ]
        gpu  kernel              {before}                                                    [k corr=3]
        """,
    )
    assert lengths(data) == [(76 + idle - left_out, left_out)]


def test_a_wait_for_the_step_s_own_work_is_part_of_it(tmp_path: Path) -> None:
    data = data_of(
        tmp_path,
        """
        main notes [s1                                                        ]
        main calls [launch corr=1][waitall corr=2][launch corr=3]
        main ops                                  [aten::mm     ]
        gpu  kernel [k corr=1                    ]       [k corr=3]
        """,
    )
    assert lengths(data) == [(60, 0)]


@pytest.mark.parametrize(("frames", "left_out"), [("", 23), ("[frame         ]", 0)])
def test_the_profiler_s_synchronize_as_it_stops(
    tmp_path: Path, frames: str, left_out: float
) -> None:
    """One that the program asked for, as its Python frames show, is the step's."""
    data = data_of(
        tmp_path,
        f"""
        main notes  [s1                                         ]
        main calls  [launch corr=3]       [waitall corr=4]
        main ops    [aten::mm           ]
        main python                       {frames}
        gpu  kernel       [k corr=3               ]
        """,
    )
    assert lengths(data) == [(45 - left_out, left_out)]


def test_the_last_step_ends_with_its_last_row_where_nothing_follows(tmp_path: Path) -> None:
    """Its mark ends 1 ms after it in the others, and 21 ms after it in the last one."""
    data = data_of(
        tmp_path,
        """
        main notes [s1             ][s2             ][s3                                 ]
        main calls [launch corr=1]  [launch corr=2]  [launch corr=3]
        main ops   [aten::mm      ] [aten::mm      ] [aten::mm      ]
        gpu  kernel [k corr=1]       [k corr=2]       [k corr=3]
        """,
    )
    assert lengths(data) == [(17, 0), (17, 0), (17, 20)]
    assert data.per_step.duration_us == 17_000


def test_a_last_step_without_a_row_is_as_long_as_its_mark(tmp_path: Path) -> None:
    """The trace ends before anything of it ran."""
    data = data_of(
        tmp_path,
        """
        main notes [s1      ][s2      ] [s3                            ]
        main ops    [aten::mm][aten::mm]
        """,
    )
    assert lengths(data) == [(10, 0), (10, 0), (32, 0)]


def test_a_longer_last_step_with_rows_in_it_is_a_longer_step(tmp_path: Path) -> None:
    data = data_of(
        tmp_path,
        """
        main notes [s1             ][s2             ][s3                                 ]
        main calls [launch corr=1]  [launch corr=2]  [launch corr=3]
        main ops   [aten::mm      ] [aten::mm      ] [aten::mm      ]    [aten::mm      ]
        gpu  kernel [k corr=1]       [k corr=2]       [k corr=3]
        """,
    )
    assert [left_out for _, left_out in lengths(data)] == [0, 0, 0]


def test_a_real_step_that_begins_in_a_wait_for_earlier_work() -> None:
    """14.1 ms of 47: the critical path was the host's, which is the device's."""
    data = reported("tracelens_h100_qwen").data
    (step,) = data.steps
    assert step.left_out_us == pytest.approx(14_203.4, abs=0.1)
    assert step.duration_us + step.left_out_us == pytest.approx(47_151.4, abs=0.1)
    simulator = Simulator(Selection(loaded("tracelens_h100_qwen"), None))
    path = simulator.unchanged.path
    host = (path.end - path.start)[path.part == 0].sum()
    assert host < 0.15 * simulator.unchanged.step


def test_a_real_last_step_that_ended_with_the_profiler() -> None:
    """84.9 ms after the last row; 12 us at the ends of the others."""
    name = "kineto_resnet50_num_workers_4/worker0.1623213129365"
    data = reported(name).data
    assert [round(step.left_out_us) for step in data.steps] == [0, 0, 0, 0, 0, 84_932]
    assert data.steps[-1].duration_us == pytest.approx(121_582)
