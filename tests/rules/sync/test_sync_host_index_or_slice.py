"""`sync-host-index-or-slice`."""

from __future__ import annotations

from pathlib import Path

import grid
import pytest
from rules import drawn
from rules.drawn import causes, findings

from tb_hookview import markers
from tb_hookview.loading import load
from tb_hookview.report.build import build_report

CAUSE = "sync-host-index-or-slice"
NAMES = {"fc": markers.encode("forward", "fc", "Linear"), "slice": "aten::slice"}


def test_an_index_that_comes_from_the_host(tmp_path: Path) -> None:
    found = findings(
        tmp_path,
        """
        main ops   [aten::index                       ] [aten::mm     ]
        main ops    [aten::to                       ]
        main ops     [aten::copy_                  ]
        main calls    [copy corr=5][wait corr=6 ]       [launch corr=7]
        gpu  copy        [P2D corr=5]
        gpu  kernel [k]                                         [k corr=7]
        """,
    )
    (finding,) = found["sync-host-index-or-slice"]
    assert finding.confidence == "high"
    assert "copied to the device" in finding.evidence
    assert finding.fix.startswith("Create index tensors")


def test_a_bound_that_comes_from_the_device(tmp_path: Path) -> None:
    found = findings(
        tmp_path,
        """
        main ops   [fc                                         ]
        main ops    [aten::item         ]   [aten::slice]
        main calls    [wait corr=6 ]
        """,
        NAMES,
    )
    (finding,) = found["sync-host-index-or-slice"]
    assert (finding.module, finding.confidence) == ("fc", "medium")
    assert finding.fix.startswith("Keep lengths")


@pytest.mark.parametrize(("bound", "cause"), [("-1", "sync-scalar-item"), ("7", CAUSE)])
def test_the_last_of_something_was_not_read(bound: str, cause: str, tmp_path: Path) -> None:
    """`counts[-1].item()` reads a value; the constant is none of a tensor's."""
    picture = """
        main ops   [fc                                         ]
        main ops    [aten::item         ]   [aten::slice]
        main calls    [wait corr=6 ]
        """
    events = grid.events(picture, {**drawn.NAMES, **NAMES})
    for event in events:
        if event["name"] == "aten::slice":
            inputs = {"Input Dims": [[8], [], []], "Input type": ["float", "Scalar", "Scalar"]}
            event["args"] |= {**inputs, "Concrete Inputs": ["", "0", bound]}
    report = build_report(load(grid.write(tmp_path / "t.json", events)))
    assert [sync.cause for sync in report.data.syncs] == [cause]


def test_a_slice_that_a_coarse_clock_begins_before_the_read_ends(tmp_path: Path) -> None:
    """Clocks of whole microseconds may let two operators that follow each other overlap by one."""
    picture = """
        main ops   [fc                                         ]
        main ops    [aten::item         ]
        main ops                        [aten::slice] [aten::mm]
        main calls    [wait corr=6 ]
        """
    assert causes(tmp_path, picture, NAMES) == ["sync-host-index-or-slice"]


def test_a_slice_on_another_line_has_nothing_to_do_with_the_value(tmp_path: Path) -> None:
    picture = """
        main ops   [fc                                                   ]
        main ops    [aten::item         ]             [aten::slice]
        main calls    [wait corr=6 ]
        """
    assert causes(tmp_path, picture, NAMES) == ["sync-scalar-item"]


def test_a_metric_read_before_the_next_batch_is_sliced(tmp_path: Path) -> None:
    picture = """
        main ops   [fc   ] [aten::item         ] [aten::slice]
        main calls           [wait corr=6 ]
        """
    assert causes(tmp_path, picture, NAMES) == ["sync-scalar-item"]


def test_an_index_on_the_device(tmp_path: Path) -> None:
    found = findings(
        tmp_path,
        """
        main ops   [aten::index             ]
        main calls    [launch corr=7]
        gpu  kernel           [k corr=7]
        """,
    )
    assert not found.rules


def test_a_batch_that_is_copied_and_then_indexed(tmp_path: Path) -> None:
    picture = """
        main ops   [aten::to                        ] [aten::index ]
        main ops     [aten::copy_                  ]
        main calls    [copy corr=5][wait corr=6 ]
        gpu  copy        [P2D corr=5]
        """
    assert causes(tmp_path, picture) != ["sync-host-index-or-slice"]
