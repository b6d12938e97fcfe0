"""Exported tables, read back by other libraries and held against the report."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import grid
import pytest
from shared_traces import shared_trace

from tb_hookview.errors import NotFoundError, UsageError
from tb_hookview.export import export
from tb_hookview.loading import load
from tb_hookview.report.build import build_report
from tb_hookview.report.result import Report
from tb_hookview.tables.catalogue import CATALOGUE
from tb_hookview.tables.model.columns import Column

SHARED = [
    "hta_mi250_minitoy_training",
    "hta_cpu_only",
    "param_dlrm_8_ranks/worker0",
    pytest.param("hta_v100_training", marks=pytest.mark.slow),
    pytest.param("tracelens_h100_qwen", marks=pytest.mark.slow),
]
OF_REPORT = [name for name, entry in CATALOGUE.items() if not entry.computed]


@pytest.fixture(params=SHARED)
def traced(request: pytest.FixtureRequest) -> tuple[Path, Report]:
    path = shared_trace(request.param)
    return path, build_report(load(path))


def rows_of(report: Report, table: str) -> list[dict[str, Any]]:
    columns = report.table(table).to_columns()
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@pytest.mark.slow
def test_parquet_holds_the_report(traced: tuple[Path, Report], tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    path, report = traced
    export(path, tmp_path / "out", form="parquet")
    for name in OF_REPORT:
        file = tmp_path / "out" / f"{name}.parquet"
        read = parquet.read_table(file).to_pylist()
        for shapes in (shapes for row in read for shapes in row.get("shapes") or []):
            shapes["dims"] = json.loads(shapes["dims"])  # shapes, or lists of them: no one type
        assert read == rows_of(report, name)
        assert parquet.read_schema(file).names == [c.name for c in report.table(name).columns]


def test_csv_holds_the_report(traced: tuple[Path, Report], tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    path, report = traced
    export(path, tmp_path / "out", form="csv", tables=OF_REPORT)
    for name in OF_REPORT:
        read = polars.read_csv(tmp_path / "out" / f"{name}.csv", infer_schema=False)
        columns = {column.name: column for column in report.table(name).columns}
        assert read.columns == list(columns)
        rows = [{k: parsed(v, columns[k]) for k, v in row.items()} for row in read.to_dicts()]
        assert rows == rows_of(report, name)


def parsed(text: str | None, column: Column) -> Any:
    if text is None or column.type is str:
        guarded = (text or "").startswith(("'=", "'+", "'-", "'@"))
        return text[1:] if text and guarded else text
    return column.type(text) if column.type in (int, float) else json.loads(text)


def test_json_and_arrow_hold_the_same_rows(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    path = shared_trace("hta_mi250_minitoy_training")
    report = build_report(load(path))
    for name in ("syncs", "device_events"):
        export(path, tmp_path / f"{name}.json", tables=[name])
        export(path, tmp_path / f"{name}.arrow", tables=[name])
        assert json.loads((tmp_path / f"{name}.json").read_bytes()) == rows_of(report, name)
        with pyarrow.ipc.open_stream((tmp_path / f"{name}.arrow").read_bytes()) as stream:
            assert stream.read_all().to_pylist() == rows_of(report, name)


def test_one_table_is_one_file(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    path = shared_trace("hta_mi250_minitoy_training")
    syncs = build_report(load(path)).syncs
    export(path, tmp_path / "out.parquet", tables=["syncs"])
    frame = pandas.read_parquet(tmp_path / "out.parquet")
    assert frame["id"].tolist() == [sync.id for sync in syncs]
    assert frame["api"].tolist() == [sync.api for sync in syncs]
    export(path, tmp_path / "out.csv", tables=["syncs"])
    frame = pandas.read_csv(tmp_path / "out.csv")
    assert frame["start_us"].tolist() == [sync.start_us for sync in syncs]


def test_several_tables_are_a_folder_of_these(tmp_path: Path) -> None:
    path = grid.write(tmp_path / "t.json", grid.events("main ops [a  ]"))
    export(path, tmp_path / "out", form="csv", tables=["syncs", "gaps", "syncs"])
    written = {file.name for file in (tmp_path / "out").iterdir()}
    assert written == {"syncs.csv", "gaps.csv", "report.json"}
    export(path, tmp_path / "all", form="csv")
    written = {file.name for file in (tmp_path / "all").iterdir()}
    assert written == {*(f"{name}.csv" for name in CATALOGUE), "report.json"}


def test_what_cannot_be_made_is_refused_before_any_work(tmp_path: Path) -> None:
    missing = tmp_path / "missing.json"
    with pytest.raises(NotFoundError, match="no table 'waits'; there are steps, modules"):
        export(missing, tmp_path / "out.csv", tables=["waits"])
    with pytest.raises(UsageError, match="holds no tables"):
        export(missing, tmp_path / "out.pftrace", tables=["syncs"])
    (tmp_path / "there").mkdir()
    with pytest.raises(UsageError, match="is a folder"):
        export(missing, tmp_path / "there", form="csv", tables=["syncs"])


@pytest.mark.parametrize("form", ["parquet", "csv", "json", "arrow"])
def test_a_folder_holds_the_whole_report(form: str, tmp_path: Path) -> None:
    path = shared_trace("hta_mi250_minitoy_training")
    export(path, tmp_path / "out", form=form)
    written = json.loads((tmp_path / "out" / "report.json").read_bytes())
    assert written == json.loads(build_report(load(path)).to_json())


@pytest.mark.slow
def test_events_hold_every_row_with_its_module(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    path = shared_trace("hta_v100_training")
    export(path, tmp_path / "out.parquet", tables=["events"])
    analysis, report = load(path), build_report(load(path))
    file = parquet.ParquetFile(tmp_path / "out.parquet")
    assert file.num_row_groups > 1
    read = file.read().to_pydict()
    events = analysis.trace.events
    assert read["start_ns"] == events.start.tolist()
    assert read["duration_ns"] == events.duration.tolist()
    assert read["name"] == [analysis.trace.strings[name] for name in events.name.tolist()]
    spent: dict[str | None, int] = {}
    columns = ("kind", "phase", "module", "duration_ns", "node")
    for kind, phase, module, duration, node in zip(*(read[c] for c in columns), strict=True):
        if kind in ("kernel", "copy", "set") and phase == "backward":
            assert node is not None
            spent[module] = spent.get(module, 0) + duration
    assert spent.pop(None, 0) / 1000 == pytest.approx(report.data.coverage.unattributed_us)
    for module in report.data.modules:
        found = spent.pop(module.path, 0)
        assert found / 1000 == pytest.approx(module.backward.self_device_us)
    assert not spent


def test_events_of_one_step(tmp_path: Path) -> None:
    path = shared_trace("hta_mi250_minitoy_training")
    steps = load(path).steps.name
    export(path, tmp_path / "out.csv", steps=[steps[0]], tables=["events"])
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["step"] for row in rows} == {steps[0]}
    assert any(row["kind"] == "kernel" for row in rows)


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1"])
def test_csv_names_are_no_formulas(name: str, tmp_path: Path) -> None:
    path = grid.write(tmp_path / "odd.json", grid.events("main ops [a  ]", {"a": name}))
    export(path, tmp_path / "out.csv", tables=["events"])
    with (tmp_path / "out.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["name"] == f"'{name}"


def test_pyarrow_is_asked_for_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(UsageError, match="pyarrow"):
        export(tmp_path / "missing.json", tmp_path / "out.parquet")
