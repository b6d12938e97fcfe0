"""Modules whose calls are not in the trace: their work is unknown, never 0."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grid
import pytest
from analysis.owners import NAMES, module, report_of

from tb_hookview import markers
from tb_hookview.cli import checks
from tb_hookview.comparison.compare import compare
from tb_hookview.errors import UsageError
from tb_hookview.loading import analyze
from tb_hookview.report.summary.modules import module_table
from tb_hookview.schema import UNSEEN, Comparison, ModuleChange, ReportData, Work

UNKNOWN = Work(None, None, None, None, None)
FORWARD = {
    "root": markers.encode("forward", "", "Net"),
    "a": markers.encode("forward", "blocks.a", "Linear"),
    "b": markers.encode("forward", "blocks.b", "Linear"),
    "loss": markers.encode("forward", "loss", "Loss"),
    "owns_b": markers.encode("gradient", "blocks.b", "Linear", "weight"),
}
ALL = """
    main ops [root                                   ]
    main ops  [a             ]  [b                 ]
    main ops   [mm seq=1   ]     [mm seq=2    ]
    main ops                                           [mm' seq=2 F=1 ][mm' seq=1 F=1    ]
    """
WITHOUT_B = ALL.replace("[b                 ]", "                    ")
UNCALLED = """
    main ops {loss}
    main ops  [mm seq=1   ]
    main ops                   [mm' seq=1 F=1 ] [acc'      ]
    main ops                                      [{owner}]
    """
"""What runs has no module's call, but for `loss`; `owns_b` marks a gradient of the model."""


def manifest(*unmarked: str) -> dict[str, Any]:
    classes = {"": "Net", "blocks": "ModuleList", "blocks.a": "Linear", "blocks.b": "Linear"}
    listed = [
        {"path": path, "class": name, "marked": path not in unmarked}
        for path, name in {**classes, "loss": "Loss"}.items()
    ]
    return {markers.MANIFEST_KEY: {"version": 1, "roots": ["", "loss"], "modules": listed}}


def recorded(folder: Path, picture: str, *unmarked: str) -> ReportData:
    return report_of(folder, picture, FORWARD, **manifest(*unmarked))


def unknown(data: ReportData) -> list[str]:
    return [row.path for row in data.modules if row.forward == UNKNOWN]


def codes(data: ReportData) -> list[str]:
    return [warning.code for warning in data.trace.warnings]


def test_what_was_not_to_be_marked_is_unknown_and_so_is_the_list_above(tmp_path: Path) -> None:
    data = recorded(tmp_path, WITHOUT_B, "blocks.b")
    assert unknown(data) == ["blocks", "blocks.b"]
    assert [row.path for row in data.modules if row.unseen == UNSEEN] == ["blocks", "blocks.b"]
    assert module(data, "blocks.b").backward == UNKNOWN
    assert module(data, "blocks").backward.host_us == module(data, "blocks.a").backward.host_us
    assert module(data, "").forward.self_host_us == 41 - 16  # with what `b` ran
    assert codes(data) == []


def test_what_was_to_be_marked_and_was_not_called_took_no_time(tmp_path: Path) -> None:
    data = recorded(tmp_path, WITHOUT_B)
    assert unknown(data) == []
    assert module(data, "blocks.b").forward.host_us == 0


FORWARD_OF_B = """
    main ops [root                                   ]
    main ops  [a             ]  [mm seq=2      ]
    main ops   [mm seq=1   ]
    main ops                                           [mm' seq=2 F=1 ][acc' ][mm' seq=1 F=1    ]
    main ops                                                            [owns]
    """


@pytest.mark.parametrize(("owner", "expected"), [("b", ["blocks", "blocks.b"]), ("blocks", [])])
def test_whose_forward_is_called_directly_is_unknown(
    tmp_path: Path, owner: str, expected: list[str]
) -> None:
    """Its gradients say that it is in use; a list has no forward."""
    names = {"b": ("blocks.b", "Linear"), "blocks": ("blocks", "ModuleList")}
    owns = {"owns": markers.encode("gradient", *names[owner], "weight")}
    data = report_of(tmp_path, FORWARD_OF_B, {**FORWARD, **owns}, **manifest())
    assert unknown(data) == expected
    assert module(data, names[owner][0]).backward.self_host_us == 7.0


def test_a_list_has_no_calls_to_mark(tmp_path: Path) -> None:
    assert unknown(recorded(tmp_path, ALL, "blocks")) == []


def test_what_is_called_although_it_was_not_to_be_marked_is_known(tmp_path: Path) -> None:
    assert unknown(recorded(tmp_path, ALL, "blocks.b")) == []


MODEL = ["", "blocks", "blocks.a", "blocks.b"]


@pytest.mark.parametrize(
    ("loss", "owner", "expected"),
    [
        ("", "mm", [*MODEL, "loss"]),
        ("", "owns_b", [*MODEL, "loss"]),
        ("[loss           ]", "owns_b", MODEL),
        ("[loss           ]", "mm", []),
    ],
    ids=["nothing called", "and a gradient is marked", "loss called", "model not in use"],
)
def test_a_model_of_which_another_object_runs(
    tmp_path: Path, loss: str, owner: str, expected: list[str]
) -> None:
    data = recorded(tmp_path, UNCALLED.format(loss=loss or " ", owner=owner))
    assert unknown(data) == expected
    known = module(data, "blocks.b").backward.self_host_us
    assert known == (12 if owner == "owns_b" else None if expected else 0)


def test_the_warning_says_what_is_known_without_calls(tmp_path: Path) -> None:
    data = recorded(tmp_path, UNCALLED.format(loss=" ", owner="owns_b"))
    assert data.coverage.by_evidence_host == {"mark": 12}
    (warning,) = data.trace.warnings
    assert warning.code == "no-module-calls"
    assert "unknown, but for gradients that are marked" in warning.message
    assert "nothing is attributed" not in warning.message


def test_calls_that_are_not_seen_are_not_counted_in_the_table(tmp_path: Path) -> None:
    rows = module_table(recorded(tmp_path, WITHOUT_B, "blocks.b")).rows
    calls = {str(row[0]): row[2] for row in rows}
    assert calls == {"(root)": "1", "blocks": "-", "blocks.a": "1", "blocks.b": "-", "loss": "0"}


def test_the_share_of_what_is_unknown_cannot_be_checked(tmp_path: Path) -> None:
    data = recorded(tmp_path, WITHOUT_B, "blocks.b")
    for path in ("blocks", "blocks.b"):
        with pytest.raises(UsageError, match="work unknown"):
            checks.module_percent(data, path, 100)
    assert checks.module_percent(data, "loss", 0).holds


def test_what_is_unknown_is_not_scaled(tmp_path: Path) -> None:
    traced = grid.events(WITHOUT_B, {**NAMES, **FORWARD})
    report = analyze(grid.write(tmp_path / "t.json", traced, **manifest("blocks.b")))
    refused = report.whatif(scale={"module:blocks.b": 0}).refused
    assert refused == f"module:blocks.b: {UNSEEN}"
    assert report.whatif(scale={"module:blocks.a": 0}).refused is None


def changes(found: Comparison) -> dict[str, ModuleChange]:
    return {row.path: row for row in found.modules}


def test_work_that_is_seen_on_one_side_alone_is_no_change(tmp_path: Path) -> None:
    whole = recorded(tmp_path, ALL)
    partly = recorded(tmp_path, WITHOUT_B, "blocks.b")
    for sides in ((whole, partly), (partly, whole)):
        rows = changes(compare(*sides))
        statuses = {path: row.status for path, row in rows.items()}
        held = dict.fromkeys(["", "blocks", "blocks.b"], "unknown")
        assert statuses == {**held, "blocks.a": "same", "loss": "same"}
        assert rows[""].forward_us.change is rows["blocks.b"].backward_us.change is None
    assert {row.status for row in compare(partly, partly).modules} == {"same"}


def test_without_operators_a_backward_is_unknown_of_each_module_too(tmp_path: Path) -> None:
    picture = """
        main python [net                 ]
        main calls     [go corr=1]
        gpu  kernel       [k corr=1        ]
        """
    traced = grid.events(picture, {"net": "nn.Module: Net_0", "go": "cudaLaunchKernel"})
    data = analyze(grid.write(tmp_path / "t.json", traced)).counted.data
    (net,) = data.modules
    assert (net.forward.device_us, net.backward.device_us) == (18, None)
    assert data.coverage.backward_device_us is None
