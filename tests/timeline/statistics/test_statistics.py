"""Sums over a window: over whole steps and the whole trace they are those of the report."""

from __future__ import annotations

from pathlib import Path

import gallery
import pytest
from drawn import timeline_of

from tb_hookview.report.build import build_report
from tb_hookview.schema.timeline import WindowStatistics
from tb_hookview.timeline import Timeline
from tb_hookview.timeline.statistics.statistics import statistics

TRACES = gallery.small_traces()
exactly = pytest.approx


def whole(timeline: Timeline) -> WindowStatistics:
    first, last = timeline.analysis.bounds
    return statistics(timeline, 0, max(last - first, 1))


def test_a_forward_that_is_not_all_known_is_other_as_in_the_report(tmp_path: Path) -> None:
    """Three of the nodes of the second backward have no operator."""
    picture = """
        main     ops  [aten::add  ][aten::mul  ]                [aten::add]
        autograd ops                            [MulB  ][AddB  ]           [SinB][CosB][ExpB][AddB]
        """
    names = {f"{name}B": f"{name}Backward0" for name in ("Mul", "Add", "Sin", "Cos", "Exp")}
    timeline = timeline_of(tmp_path, picture, names)
    (step,) = build_report(timeline.analysis).data.steps
    phases = whole(timeline).phases
    assert step.forward_us is None
    assert "forward" not in phases
    assert phases["other"] == step.other_us == step.duration_us - (step.backward_us or 0)


def test_without_operators_a_backward_is_as_unknown_as_in_the_report(tmp_path: Path) -> None:
    picture = """
        main notes  [load  ]   [Optimizer.step#SGD.step]
        main calls          [go]   [go]
        """
    timeline = timeline_of(tmp_path, picture, {"load": "enumerate(DataLoader)#_Iter.__next__"})
    (step,) = build_report(timeline.analysis).data.steps
    phases = whole(timeline).phases
    assert (step.forward_us, step.backward_us) == (None, None)
    assert (phases["optimizer"], phases["data"]) == (step.optimizer_us, step.data_us)
    assert not {"forward", "backward"} & phases.keys()


def test_a_call_inside_one_of_the_same_name_counts_once_as_in_the_report(tmp_path: Path) -> None:
    picture = """
        main ops  [aten::mm                              ]
        main ops    [aten::empty ][aten::mm             ]
        """
    timeline = timeline_of(tmp_path, picture)
    operators = {row.name: row.host_us for row in build_report(timeline.analysis).data.operators}
    totals = {row.name: row.total_us for row in whole(timeline).top if row.kind == "host"}
    assert totals == operators
    assert totals["aten::mm"] == 40


def test_each_device_has_its_own_idle_time(tmp_path: Path) -> None:
    picture = """
        main calls  [go corr=1][go corr=2]             [go corr=3]
        gpu  kernel            [k corr=1 device=0    ]
        gpu  kernel                                          [k corr=2 device=1]
        """
    devices = whole(timeline_of(tmp_path, picture)).devices
    assert [device.id for device in devices] == ["0", "1"]
    assert [device.idle_us for device in devices] == [11 + 26, 41]
    assert [device.idle_by_cause["launch"] for device in devices] == [11, 41]
