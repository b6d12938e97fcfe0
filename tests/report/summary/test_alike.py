"""Findings that differ in the number of a layer alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from rules import drawn

from tb_hookview.document.document import Table
from tb_hookview.report.summary.brief import brief_document
from tb_hookview.report.summary.tables import finding_table
from tb_hookview.schema import Finding, ReportData

SYNC = """
    main notes [ProfilerStep#1                                ]
    main ops                  [aten::item    ]
    main calls [launch corr=1] [wait        ]   [launch corr=2]
    gpu kernel   [k corr=1                 ]               [k corr=2]
    """


@pytest.fixture
def data(tmp_path: Path) -> ReportData:
    """Ten layers with the same finding, and another one."""
    found = drawn.report(tmp_path, SYNC)
    (first, *_) = found.findings

    def at(where: str, rule: str) -> Finding:
        return replace(first, severity="low", where=where, rule=rule, cost_us_per_step=5.0)

    layers = [at(f"Layer_{n}, aten::item", "one") for n in range(10)]
    return replace(found, findings=[*layers, at("Head_1, aten::item", "one"), at("x", "two")])


def test_layers_share_a_line_of_the_short_list(data: ReportData) -> None:
    findings = next(part for part in brief_document(data, data).parts if isinstance(part, Table))
    (first, *rest) = [cell[0].split(": ", 1)[1:] for _, cell in findings.rows]
    assert first == ["Layer_0, aten::item, and 9 more like it; figures are of the first"]
    assert rest == [["Head_1, aten::item"], []]
    assert [len(cell) for _, cell in findings.rows] == [2, 1, 1]  # all have one fix


def test_layers_share_a_line_of_the_long_list(data: ReportData) -> None:
    table = finding_table(data, 2)
    places = [row[1][1] for row in table.rows]
    assert places == [
        "Layer_0, aten::item, and 9 more like it; figures are of the first",
        "Head_1, aten::item",
    ]
    assert table.hidden.endswith("1 more (up to 5.00 us, two); the report has them all")


def test_an_unknown_cost_is_not_one_of_nothing(data: ReportData) -> None:
    unknown = replace(data.findings[0], severity="info", cost_us_per_step=None)
    assert len(finding_table(replace(data, findings=[unknown]), 2).rows) == 1
