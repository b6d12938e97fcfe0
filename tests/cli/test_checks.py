"""Limits of `hookview check`, each on the smallest timeline."""

from __future__ import annotations

from pathlib import Path

import grid
import pytest

from tb_hookview import markers
from tb_hookview.cli import checks
from tb_hookview.errors import UsageError
from tb_hookview.loading import analyze
from tb_hookview.report.result import Report
from tb_hookview.schema import ReportData

NAMES = {
    "one": markers.encode("forward", "blocks.1", "Linear"),
    "ten": markers.encode("forward", "blocks.10", "Linear"),
    "mm'": "autograd::engine::evaluate_function: MmBackward0",
    "wait": "cudaStreamSynchronize",
    "launch": "cudaLaunchKernel",
    "s1": "ProfilerStep#1",
    "s2": "ProfilerStep#2",
}


def whole(folder: Path, picture: str) -> Report:
    return analyze(grid.write(folder / "t.json", grid.events(picture, NAMES)))


def report(folder: Path, picture: str) -> ReportData:
    return whole(folder, picture).data


@pytest.mark.parametrize(("limit", "holds"), [(50, True), (49, False)])
def test_idle_time_is_a_share_of_all_devices(tmp_path: Path, limit: float, holds: bool) -> None:
    """Of 48 us one device idles 12, the other 36."""
    picture = """
        gpu kernel [k device=0                        ]
        gpu kernel                                     [k device=1]
        """
    found = checks.idle_percent(report(tmp_path, picture), limit)
    assert (found.value, found.holds) == (50, holds)


FORWARD = """
    main ops   [mm seq=1       ]
    main calls  [launch corr=1]
    gpu kernel                  [k corr=1]
"""


@pytest.mark.parametrize(
    ("limit", "picture", "lacking"),
    [
        pytest.param("max_backward_syncs", FORWARD, "no backward pass", id="inference"),
        pytest.param("max_unattributed_percent", FORWARD, "no backward pass", id="a share of it"),
        pytest.param("max_syncs", "main ops [mm]", "no device events", id="no device"),
        pytest.param("max_sync_us", "main ops [mm]", "no device events", id="no device's time"),
        pytest.param("max_syncs", "main ops [mm]\ngpu kernel [k]", "no launches", id="kernels"),
        pytest.param("max_idle_percent", "main ops [mm]", "no device events", id="idle"),
    ],
)
def test_what_the_trace_lacks_cannot_be_checked(
    tmp_path: Path, limit: str, picture: str, lacking: str
) -> None:
    (test,) = checks.tests(whole(tmp_path, picture), {limit: 0}, [])
    with pytest.raises(UsageError, match=lacking):
        test.outcome()


def test_shares_are_of_the_steps_that_count(tmp_path: Path) -> None:
    """All of the backward is that of `blocks.10` in the second step; half of it in both."""
    picture = """
        main notes [s1                                   ][s2                                ]
        main ops    [one       ]                            [ten       ]
        main ops     [mm seq=1]                              [mm seq=3]
        auto ops                 [mm' seq=1 F=1         ]                [mm' seq=3 F=1     ]
        auto calls                 [launch corr=1]                         [launch corr=2]
        gpu kernel [a corr=9]                    [k corr=1]                               [k corr=2]
        """
    found = whole(tmp_path, picture)
    assert found.data.per_step.steps == 1
    asked = {"max_unattributed_percent": 5.0, "max_idle_percent": 100.0}
    outcomes = [
        test.outcome() for test in checks.tests(found, asked, [("blocks.10", 50), ("blocks.1", 5)])
    ]
    counted = "mean of 1 of 2 steps; the first holds work launched before it"
    assert all(outcome.what.endswith(f", {counted}") for outcome in outcomes)
    assert [outcome.value for outcome in outcomes if "backward of" in outcome.what] == [100, 0]


def test_counts_are_of_the_whole_trace(tmp_path: Path) -> None:
    """The one sync is in the first step, which does not count."""
    picture = """
        main notes [s1                     ][s2             ]
        main calls  [launch corr=1] [wait ]  [launch corr=2]
        gpu kernel [a corr=9][k corr=1]              [k corr=2]
        """
    found = whole(tmp_path, picture)
    assert found.data.per_step.steps == 1
    (test,) = checks.tests(found, {"max_syncs": 0.0}, [])
    assert test.outcome().value == 1


def test_a_trace_that_could_show_syncs_and_has_none_is_within_limits(tmp_path: Path) -> None:
    assert checks.syncs(report(tmp_path, FORWARD), 0).holds


def test_a_number_that_begins_alike_is_another_module(tmp_path: Path) -> None:
    """`blocks.10` is not a child of `blocks.1`."""
    picture = """
        main ops   [one        ][ten        ]
        main ops    [mm seq=1 ]  [mm seq=2 ]
        auto ops                              [mm' seq=2 F=1    ][mm' seq=1 F=1    ]
        auto calls                               [wait ]            [wait]
        """
    found = checks.module_percent(report(tmp_path, picture), "blocks.1", 100)
    assert [sync.module for sync in found.syncs] == ["blocks.1"]
    assert found.value == 50


NODE = """
    main ops   {around}
    main ops     [aten::mm seq=1]
    auto ops                         [mm' seq=1 F=1   ]
    auto calls                        [launch corr=2]
    gpu kernel                                          [k corr=2]
"""


@pytest.mark.parametrize(
    ("around", "note"),
    [
        ("[one             ]", ""),
        ("[note            ]", "100.0% is attributed to annotations only"),
    ],
)
def test_an_annotation_alone_counts_as_attributed_and_the_line_says_so(
    tmp_path: Path, around: str, note: str
) -> None:
    picture = NODE.format(around=around).replace("ops   [note", "notes [note")
    found = checks.unattributed_percent(report(tmp_path, picture), 5)
    assert (found.value, found.holds, found.note) == (0, True, note)
