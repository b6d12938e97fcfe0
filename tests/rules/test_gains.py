"""Gains of findings: by hand what a step takes without their causes. One character is 100 us."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grid
import pytest
from rules.diagnosed import diagnosed
from shared_traces import shared_trace
from simulation import drawn

from tb_hookview.analysis.selection import select
from tb_hookview.formats import format_us
from tb_hookview.isolation import Failures
from tb_hookview.loading import analyze, load
from tb_hookview.report.summary.tables import saving
from tb_hookview.rules.diagnosis import diagnose
from tb_hookview.schema import Finding
from tb_hookview.simulation.alone import Alone
from tb_hookview.simulation.simulator import Simulator

SYNC = """
    main notes [ProfilerStep#1                                                     ]
    main ops                  [aten::item           ]
    main calls [launch corr=1][wait                 ][launch corr=2]
    gpu kernel [k corr=1                           ] [k corr=2                     ]
"""
"""1,500 us of launches, then the host waits for 2,200 us; the second kernel takes 3,000."""
LOADER = """
    main notes [ProfilerStep#1                                                  ]
    main notes [loader             ]
    main calls                      [launch corr=1][launch corr=2]
    gpu kernel                      [k corr=1     ][k corr=2                    ]
"""
BOTH = """
    main notes [ProfilerStep#1                                                                            ]
    main notes [loader             ]
    main ops                                        [aten::item           ]
    main calls                      [launch corr=1 ][wait                 ][launch corr=2]
    gpu kernel                       [k corr=1                           ]  [k corr=2                     ]
"""
"""The loader takes 2,100 us; after the wait the device idles for 200."""
DEVICE_BOUND = """
    main notes [ProfilerStep#1                                                          ]
    main ops   [mm           ]
    main calls [launch corr=1][wait                                             ]
    gpu kernel [dgemm corr=1                                                    ]
"""
HOST_BOUND = """
    main notes [ProfilerStep#1                                                  ]
    main ops   [mm           ][work                                             ]
    main calls [launch corr=1]
    gpu kernel [dgemm corr=1                   ]
"""

PAUSED = """
    main notes [ProfilerStep#1                                                            ]
    main ops                  [aten::item                                      ]
    main calls [launch corr=1][wait                                            ][launch corr=2]
    gpu kernel                                                       [k corr=1]                [k corr=2 ]
"""
"""The first kernel begins long after its launch, and nothing says why. Without the sync the second
launch is done by then; without the pause as well, it ends 1,000 us earlier for it."""
UNSEEN = """
    main notes [ProfilerStep#1                                                           ]
    main notes [loader   ]
    main ops              [work                                                          ]
    main calls            [launch corr=1]                                  [launch corr=2]
    gpu kernel             [nccl corr=1 stream=9     ]                      [k corr=2]
"""
"""The collective takes 2,600 us, in which nothing is computed; the host works on."""
REQUESTED = """
    main notes [ProfilerStep#1                                                            ]
    main notes [loader   ]
    main ops              [mm                                                             ]
    main calls             [launch corr=1][launch corr=2                                 ]
    gpu kernel              [nccl corr=1                 ]                                 [k corr=2]
"""
"""The second launch takes 5,000 us, of which the profiler makes room for 4,000."""
HIDDEN = """
    main notes [ProfilerStep#1                                                            ]
    main ops   [mm                                                                       ]
    main ops   [mm                                                                      ]
    main calls [launch corr=1][query                                        ][launch corr=2]
    gpu kernel  [dgemm corr=1                          ]                     [k corr=2    ]
"""
"""The second call takes 4,600 us, of which the profiler makes room for 4,000."""
FIRST_USE = """
    main notes [ProfilerStep#1                                                              ]
    main ops   [mm           ]
    main calls [launch corr=1][cuModuleLoadData     ][launch corr=2]
    gpu kernel  [dgemm corr=1]                        [k corr=2                  ]
"""
LOADED_MEANWHILE = """
    main ops   [mm           ][mm           ]
    main calls [launch corr=1][launch corr=2][cuModuleLoadData     ][launch corr=3]
    gpu kernel  [dgemm corr=1][k corr=2                                      ][k corr=3                ]
"""
HIDDEN_BY_LOADING = """
    main notes [ProfilerStep#1                                                                         ]
    main ops   [mm           ]
    main calls [launch corr=1][launch corr=2][cuModuleLoadData                        ][launch corr=3]
    gpu kernel  [dgemm corr=1                            ][k corr=2   ]                [k corr=3      ]
"""
"""4,200 us in double; the host loads as long, and launches for 1,500 us three times."""

DROPS = """
    main ops   [aten::dropout     ]
    main ops   [aten::bernoulli_ ]
    main calls  [launch corr=1]    [launch corr=2]
    gpu kernel       [k corr=1                     ][k corr=2             ]
"""


def finding(folder: Path, picture: str, rule: str) -> Finding:
    path = grid.write(folder / "t.json", drawn.events(picture))
    (found,) = diagnosed(path)[rule]
    return found


def ranked(folder: Path, listed: list[dict[str, Any]]) -> list[Finding]:
    """All findings of a trace in their order."""
    selection = select(load(grid.write(folder / "t.json", listed)), None)
    return diagnose(selection, Alone(Simulator(selection)), Failures()).findings


def test_a_sync_that_is_gone_lets_the_host_run_ahead(tmp_path: Path) -> None:
    """The device had 100 us idle; the second kernel is launched before the first one ends."""
    found = finding(tmp_path, SYNC, "sync-scalar-item")
    assert found.cost_us_per_step == found.gain_bound_us_per_step == 100
    assert found.gain_us_per_step == 100


def test_gains_among_pauses_that_nothing_explains_are_bounded(tmp_path: Path) -> None:
    """As where another process uses the device."""
    found = finding(tmp_path, PAUSED, "sync-scalar-item")
    assert found.confidence == "low"
    assert found.caveats == [
        "Unexplained delays of 4.00 ms decide the step, as where another process uses the device: "
        "the saving is 1.60 ms with them, 1.00 ms without."
    ]


def test_a_loader_that_is_gone_gains_its_time(tmp_path: Path) -> None:
    found = finding(tmp_path, LOADER, "loader-single-process")
    assert found.gain_us_per_step == found.gain_bound_us_per_step == 2100


def test_what_saves_device_time_gains_it_where_the_device_binds(tmp_path: Path) -> None:
    found = finding(tmp_path, DEVICE_BOUND, "fp64-kernels")
    assert found.gain_us_per_step == pytest.approx(found.gain_bound_us_per_step)
    assert found.severity == "high"


def test_it_gains_nothing_where_the_host_binds(tmp_path: Path) -> None:
    found = finding(tmp_path, HOST_BOUND, "fp64-kernels")
    assert found.gain_bound_us_per_step
    assert (found.gain_us_per_step, found.severity) == (0, "low")


def test_without_most_launches_a_gain_is_unknown_and_says_why(tmp_path: Path) -> None:
    found = finding(tmp_path, SYNC.replace("k corr=2 ", "k corr=9 "), "sync-scalar-item")
    assert found.gain_us_per_step is None
    assert "launches of 54% of the device's time" in (found.gain_unknown or "")
    assert found.gain_bound_us_per_step is not None


def test_what_gains_most_comes_first(tmp_path: Path) -> None:
    """Whatever the priority of its rule, which is asked for the cause of the sync first."""
    path = grid.write(tmp_path / "t.json", drawn.events(BOTH))
    selection = select(load(path), None)
    alone = Alone(Simulator(selection))
    found = diagnose(selection, alone, Failures())
    assert found.causes == ["sync-scalar-item"]
    gains = {each.rule: each.gain_us_per_step for each in found.findings}
    assert list(gains)[:2] == ["loader-single-process", "sync-scalar-item"]
    assert (gains["loader-single-process"], gains["sync-scalar-item"]) == (2100, 200)


def test_a_cost_off_the_critical_path_comes_after_what_saves(tmp_path: Path) -> None:
    """Exposed communication of a step that the host decides saves nothing by itself."""
    found = ranked(tmp_path, drawn.events(UNSEEN))
    rules = [each.rule for each in found]
    assert rules.index("comm-exposed") > rules.index("loader-single-process")
    costs = {each.rule: each.cost_us_per_step or 0.0 for each in found}
    assert costs["comm-exposed"] > costs["loader-single-process"]


def test_a_gain_that_is_unknown_is_bounded_by_a_replay_without_the_whole_cost(
    tmp_path: Path,
) -> None:
    found = {each.rule: each for each in ranked(tmp_path, drawn.events(UNSEEN))}["comm-exposed"]
    assert found.gain_us_per_step is None
    assert (found.gain_bound_us_per_step, found.severity) == (0, "low")
    assert (found.gain_unknown or "").endswith(
        "; a replay without any of its device work saves 0 us"
    )


def test_so_is_the_only_finding(tmp_path: Path) -> None:
    """Dropout of a forward that records a graph, on a device that decides."""
    nodes = [{"ts": n, "dur": 0.5, "args": {"Sequence number": n + 20}} for n in range(-12, 0)]
    listed = drawn.events(DROPS)
    listed += [{**listed[0], "name": "aten::mm", **each} for each in nodes]
    (found,) = ranked(tmp_path, listed)
    assert (found.rule, found.severity) == ("graph-without-backward", "high")
    assert found.gain_us_per_step is None
    assert found.gain_bound_us_per_step == 1682.5, "until the second launch has begun"
    assert not found.negligible


def requested(picture: str, call: int = -1) -> list[dict[str, Any]]:
    """Rows of a picture, one of whose calls holds the profiler's request for 4,000 us."""
    listed = drawn.events(picture)
    calls = [row for row in listed if row["cat"] == "cuda_runtime"]
    listed[2]["dur"] -= 0.5  # of the operator: where times are whole, the cost is unknown
    request = {"cat": "overhead", "name": "Activity Buffer Request", "dur": 4_000}
    return [*listed, {**calls[call], **request}]


def test_costs_and_gains_are_ranked_without_the_cost_of_recording(tmp_path: Path) -> None:
    """As recorded the host decides, and exposed communication saves nothing by itself."""
    found = ranked(tmp_path, requested(REQUESTED))
    assert [each.rule for each in found][:2] == ["comm-exposed", "loader-single-process"]
    assert found[1].unrecorded_gain_us_per_step == pytest.approx(1100, abs=1)


def test_what_only_recording_hides_needs_nothing_first(tmp_path: Path) -> None:
    """As recorded the host decides, and the kernel in double saves nothing by itself."""
    (double,) = ranked(tmp_path, requested(HIDDEN, 1))
    assert (double.gain_us_per_step, double.saves_after, double.severity) == (0, None, "high")
    assert double.gain_is_estimated
    assert saving(double) == f"{format_us(double.unrecorded_gain_us_per_step)} est."


def test_what_is_small_comes_after_what_happens_once(tmp_path: Path) -> None:
    """The kernel in double takes 13 us of 80, then a quarter."""
    listed = grid.events(FIRST_USE, drawn.NAMES)
    (double,) = (row for row in listed if row["name"] == drawn.NAMES["dgemm"])
    assert [each.rule for each in ranked(tmp_path, listed)] == ["fp64-kernels", "kernel-first-use"]
    double["dur"] = 0.25
    assert [each.rule for each in ranked(tmp_path, listed)] == ["kernel-first-use", "fp64-kernels"]


def test_what_costs_nothing_comes_last_though_it_takes_long_once(tmp_path: Path) -> None:
    """The device is busy meanwhile; the kernel in double takes 0.5 us of 175."""
    listed = grid.events(LOADED_MEANWHILE, drawn.NAMES)
    double, _, last = (row for row in listed if row["cat"] == "kernel")
    double |= {"ts": double["ts"] + 12.5, "dur": 0.5}
    last["ts"] += 60
    assert [each.rule for each in ranked(tmp_path, listed)] == ["fp64-kernels", "kernel-first-use"]


def test_what_loading_hides_is_saved_in_later_steps(tmp_path: Path) -> None:
    """As recorded the host decides the step, without its loading the device; half is saved."""
    double, once = ranked(tmp_path, drawn.events(HIDDEN_BY_LOADING))
    assert once.rule == "kernel-first-use"
    assert (double.gain_us_per_step, double.saves_after, double.severity) == (0, None, "high")
    assert double.unrecorded_gain_us_per_step == 2100
    assert saving(double) == "2.10 ms est."
    assert double.caveats[-1] == (
        "Saves an estimated 2.10 ms without kernel loading, 0 us as recorded."
    )


def test_exposed_communication_comes_first_where_the_device_is_steps_behind() -> None:
    """What is exposed while the host runs the measured steps is then of the steps before."""
    found = analyze(shared_trace("tracelens_mi300_resnet_checkpointing_ddp")).data.findings
    assert [each.rule for each in found][:2] == ["comm-exposed", "conv-layout-transpose"]
    assert found[0].gain_us_per_step is None


def test_what_happens_once_comes_after_what_recurs_though_it_gains_nothing() -> None:
    """Products without tensor cores save nothing while the host decides."""
    found = analyze(shared_trace("hta_a100_overlaid_critical_path")).data.findings
    assert [each.rule for each in found][:6] == [
        *("launch-queue-shallow", "sync-explicit", "tensor-cores-unused", "tf32-disabled"),
        *("graph-without-backward", "kernel-first-use"),
    ]
    assert [each.gain_us_per_step for each in found[1:6]] == [60, 0, 0, None, None]
    assert {each.severity for each in found[6:]} == {"info"}
