"""The tables at event level as frames and rows; sums and references are among the invariants."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grid
import pytest
from shared_traces import shared_trace
from support.loaded import loaded

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.errors import UsageError
from tb_hookview.loading import analyze, load
from tb_hookview.report.build import build_report
from tb_hookview.report.result import Report
from tb_hookview.tables import catalogue
from tb_hookview.tables.catalogue import CATALOGUE

TRACES = [
    "hta_mi250_minitoy_training",
    "hta_cpu_only",
    "tracelens_h100_bert_small",
    "param_dlrm_8_ranks/worker0",
]
COMPUTED = [name for name, entry in CATALOGUE.items() if entry.computed]


@pytest.fixture(params=TRACES, scope="module")
def analysis(request: pytest.FixtureRequest) -> Analysis:
    return loaded(request.param)


@pytest.fixture(scope="module")
def report(analysis: Analysis) -> Report:
    return build_report(analysis)


@pytest.fixture(scope="module")
def columns(report: Report) -> dict[str, dict[str, list[Any]]]:
    return {name: table.to_columns() for name, table in report.tables().items()}


Columns = dict[str, dict[str, list[Any]]]


def test_frames_hold_the_same_values(report: Report, columns: Columns) -> None:
    pandas = pytest.importorskip("pandas", reason="needs pandas: pip install pandas")
    pytest.importorskip("polars", reason="needs polars: pip install polars")
    pytest.importorskip("pyarrow", reason="needs pyarrow: pip install pyarrow")
    for name in COMPUTED:
        table = report.table(name)
        frame = table.to_pandas()
        for column, values in columns[name].items():
            known = frame[column].notna()
            assert frame[column][known].tolist() == [v for v in values if v is not None]
            assert (~known).tolist() == [value is None for value in values]
            assert not pandas.api.types.is_object_dtype(frame[column]), (name, column)
        assert table.to_arrow().to_pydict() == columns[name]
        assert table.to_polars().to_dict(as_series=False) == columns[name]


def test_rows_are_typed(report: Report) -> None:
    for name in COMPUTED:
        table = report.table(name)
        if len(table):
            row, entry = table[0], CATALOGUE[name]
            assert isinstance(row, entry.row_type)
            assert next(iter(table)) == row == table[:2][0]
            assert table[-1].id == table.to_columns()["id"][-1]


def test_a_report_from_the_cache_loads_the_analysis_when_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOKVIEW_CACHE", str(tmp_path / "cache"))
    path = shared_trace("hta_mi250_minitoy_training")
    first = analyze(path).tables()
    again = analyze(path).tables()
    for name in COMPUTED:
        assert first[name].to_columns() == again[name].to_columns()


def test_a_report_without_its_trace_says_so(tmp_path: Path) -> None:
    report = analyze(grid.write(tmp_path / "t.json", grid.events("main ops [a ]")))
    with pytest.raises(UsageError, match="without its trace"):
        len(Report(report.data).table("gaps"))


def test_an_empty_trace_has_empty_tables(tmp_path: Path) -> None:
    report = analyze(grid.write(tmp_path / "t.json", []))
    for name in COMPUTED:
        table = report.table(name)
        assert len(table) == 0
        assert list(table.to_columns()) == [column.name for column in table.columns]
        assert table.to_pandas().empty


def test_tables_of_one_report_share_their_selection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, selections = catalogue.event_rows, []

    def seen(name: str, selection: Any) -> Any:
        selections.append(selection)
        return real(name, selection)

    monkeypatch.setattr(catalogue, "event_rows", seen)
    report = build_report(load(grid.write(tmp_path / "t.json", grid.events("main ops [a ]"))))
    for _ in range(2):
        for table in report.tables().values():
            len(table)
    assert len(selections) == len(COMPUTED), "each is computed once"
    assert len({id(selection) for selection in selections}) == 1
