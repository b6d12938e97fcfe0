"""The critical path by what ran: its rows add up to the step, and host work has names."""

from __future__ import annotations

from pathlib import Path

import grid
import pytest

from tb_hookview import markers
from tb_hookview.analysis.selection import select
from tb_hookview.loading import load
from tb_hookview.report.tables.critical_path_work import critical_path_work_rows
from tb_hookview.simulation.simulator import Simulator

NAMES = {
    "launch": "cudaLaunchKernel",
    "load": "cuModuleLoadData",
    "prepare": "prepare",
    "k": "gemm",
    "conv2d": "aten::conv2d",
    "onednn": "aten::mkldnn_convolution",
    "graph": "## Call CompiledFxGraph key ##",
    "attend": "_C::cpu_attention_with_kv_cache",
    "adam": "Optimizer.step#Adam.step",
    "fc": markers.encode("forward", "fc", "Linear"),
}


def works(folder: Path, picture: str, scale: int = 1) -> dict[str, float]:
    """Time of each row by its id; the rows must add up to the replayed step."""
    events = grid.events(picture, NAMES)
    for event in events:
        event |= {"ts": scale * event["ts"], "dur": scale * event["dur"]}
    analysis = load(grid.write(folder / "t.json", events))
    simulator = Simulator(select(analysis, None))
    rows = critical_path_work_rows(simulator)
    assert abs(sum(row.us for row in rows) - simulator.unchanged.step / 1000) < 1e-6
    assert [row.us for row in rows] == sorted((row.us for row in rows), reverse=True)
    return {row.id: row.us for row in rows}


def test_host_time_outside_of_phases_has_the_name_of_what_ran(tmp_path: Path) -> None:
    found = works(
        tmp_path,
        """
        main notes  [ProfilerStep#1                                        ]
        main notes    [prepare               ]
        main ops                               [mm          ]
        main calls                               [launch corr=1]
        gpu  kernel                                     [k corr=1     ]
        """,
    )
    assert max(found, key=lambda name: found[name]) == "host::prepare"
    assert found["host::prepare"] >= 20


@pytest.mark.parametrize(("scale", "named"), [(100, True), (10, False)])
def test_long_host_time_without_an_operator_is_named_in_its_phase(
    tmp_path: Path, scale: int, named: bool
) -> None:
    """`prepare` runs for 3.3 ms of the 3.5 without any operator, and of 0.35."""
    found = works(
        tmp_path,
        """
        main notes  [ProfilerStep#1                                                  ]
        main ops     [fc                                                            ]
        main notes     [prepare                             ]
        main ops        [mm]                                   [mm          ]
        main calls                                               [launch corr=1]
        gpu  kernel                                                     [k corr=1     ]
        """,
        scale,
    )
    assert ("host:forward:prepare" in found) is named
    inside = found.get("host:forward:prepare", 0.0)
    assert inside + found["host:forward:"] == pytest.approx(44 * scale)
    assert inside == (pytest.approx(33 * scale) if named else 0)


def test_time_in_which_the_profiler_makes_room_is_the_profilers(tmp_path: Path) -> None:
    traced = grid.events(
        """
        main notes    [prepare                         ]
        main calls         [request]
        main calls                       [launch corr=1]
        gpu  kernel                                      [k corr=1     ]
        """,
        {**NAMES, "request": "Activity Buffer Request"},
    )
    for event in traced:
        if event["name"] == "Activity Buffer Request":
            event |= {"cat": "overhead", "tid": 0}
            length = event["dur"]
    simulator = Simulator(select(load(grid.write(tmp_path / "t.json", traced)), None))
    found = {row.id: row.us for row in critical_path_work_rows(simulator)}
    assert found["host::profiler"] == pytest.approx(length)
    assert found["host::prepare"] > 0


def test_an_optimizers_closure_is_named_as_such(tmp_path: Path) -> None:
    found = works(
        tmp_path,
        """
        main notes  [ProfilerStep#1                                              ]
        main notes    [adam                                                     ]
        main ops                               [mm    ] [fc       ]
        main calls                               [launch corr=1]
        gpu  kernel                                     [k corr=1     ]
        """,
    )
    assert found["host::closure of Optimizer.step#Adam.step"] >= 20


def test_an_optimizer_that_runs_python_is_in_no_closure(tmp_path: Path) -> None:
    long = " " * 1000
    found = works(
        tmp_path,
        f"""
        main notes  [ProfilerStep#1                       {long}]
        main notes    [adam                               {long}]
        main ops        [_foreach_mul_     ]
        main calls                 [launch corr=1]
        gpu  kernel                    [k corr=1     ]
        """,
    )
    assert found["host:optimizer:Optimizer.step#Adam.step"] >= 900


def test_loading_of_kernels_is_no_time_of_the_phase_around_it(tmp_path: Path) -> None:
    found = works(
        tmp_path,
        """
        main notes  [ProfilerStep#1                                                      ]
        main ops     [prepare                                                           ]
        main calls    [launch corr=1][load                      ][launch corr=2]
        gpu  kernel       [k corr=1 ]                                [k corr=2]
        """,
    )
    assert found["host::kernel loading"] == pytest.approx(28, abs=1)
    assert found["host::prepare"] == pytest.approx(40, abs=1)


def test_device_time_has_the_kind_of_its_events(tmp_path: Path) -> None:
    found = works(
        tmp_path,
        """
        main notes  [ProfilerStep#1         ]
        main ops     [mm          ]
        main calls    [launch corr=1]
        gpu  kernel             [k corr=1                      ]
        """,
    )
    assert max(found, key=lambda name: found[name]) == "device::matrix"


def test_many_short_operators_share_what_none_of_them_names(tmp_path: Path) -> None:
    text = "".join("[relu]" if number % 2 else " [add ] " for number in range(120))
    found = works(tmp_path, f"main ops {text}")
    assert found["host::relu"] == pytest.approx(60 * 6, abs=1)
    assert found["host::add"] == pytest.approx(60 * 6, abs=1)


def test_long_and_short_calls_of_an_operator_have_one_name(tmp_path: Path) -> None:
    """Where one kernel of the CPU takes nearly all of a call, and where it is one of many."""
    short = " ".join(["[conv2d  ]"] * 40)
    inner = " ".join([" [onednn]"] * 40).replace("] ", "]  ")
    found = works(
        tmp_path,
        f"""
        main ops [conv2d{" " * 200}] {short}
        main ops [onednn{" " * 200}] {inner}
        """,
    )
    assert [name for name in found if name != "host::"] == ["host::aten::conv2d"]


def test_steps_that_are_not_replayed_have_no_rows(tmp_path: Path) -> None:
    path = grid.write(tmp_path / "t.json", grid.events("gpu kernel [k corr=1]", NAMES))
    assert critical_path_work_rows(Simulator(select(load(path), None))) == []


def test_the_operators_of_a_compiled_graph_are_named(tmp_path: Path) -> None:
    """What it generated leaves no row: that is the graph's own."""
    found = works(
        tmp_path,
        """
        main notes [graph                                                         ]
        main ops    [attend                                 ]          [attend   ]
        """,
    )
    assert found["host::_C::cpu_attention_with_kv_cache"] == pytest.approx(52, abs=1)
    assert found["host::## Call CompiledFxGraph key ##"] == pytest.approx(12, abs=1)
