"""Parquet and CSV, read back by other libraries and held against the report."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any, get_origin

import grid
import msgspec
import pytest
from shared_traces import shared_trace

from tb_hookview.errors import UsageError
from tb_hookview.export import export, parquet_files
from tb_hookview.export.csv_files import CsvWriter, cell
from tb_hookview.export.tables import Table, report_tables
from tb_hookview.loading import load
from tb_hookview.report.build import build_report
from tb_hookview.report.result import Report

TABLES = {"steps", "modules", "nodes", "syncs", "findings"}
SHARED = ["hta_mi250_minitoy_training", "hta_v100_training", "hta_cpu_only", "tracelens_h100_qwen"]


def flat(row: dict[str, Any], mappings: set[str], prefix: str = "") -> dict[str, Any]:
    """A row of the report as its JSON has it, with names joined by dots."""
    result: dict[str, Any] = {}
    for name, value in row.items():
        column = prefix + name
        if isinstance(value, dict) and column not in mappings:
            result |= flat(value, mappings, f"{column}.")
        else:
            result[column] = value
    return result


def expected(report: Report, table: str, columns: dict[str, Any]) -> list[dict[str, Any]]:
    mappings = {name for name, hint in columns.items() if get_origin(hint) is dict}
    rows = [flat(row, mappings) for row in json.loads(report.to_json())[table]]
    return [{name: row.get(name) for name in columns} for row in rows]


def types_of(report: Report) -> dict[str, dict[str, Any]]:
    return {table.name: table.types for table in report_tables(report)}


@pytest.fixture(params=SHARED)
def traced(request: pytest.FixtureRequest) -> tuple[Path, Report]:
    path = shared_trace(request.param)
    return path, build_report(load(path))


@pytest.mark.slow
def test_parquet_holds_the_report(traced: tuple[Path, Report], tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    path, report = traced
    export(path, tmp_path / "out.parquet")
    types = types_of(report)
    assert set(types) >= TABLES
    for name, columns in types.items():
        file = tmp_path / "out.parquet" / f"{name}.parquet"
        read = parquet.read_table(file).to_pylist(maps_as_pydicts="strict")
        for shapes in (shapes for row in read for shapes in row.get("shapes") or []):
            shapes["dims"] = json.loads(shapes["dims"])  # shapes, or lists of them: no one type
        assert read == expected(report, name, columns)
        assert parquet.read_schema(file).names == list(columns)


def test_csv_holds_the_report(traced: tuple[Path, Report], tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    path, report = traced
    export(path, tmp_path / "out.csv")
    for name, columns in types_of(report).items():
        read = polars.read_csv(tmp_path / "out.csv" / f"{name}.csv", infer_schema=False)
        assert read.columns == list(columns)
        rows = [{k: parsed(v, columns[k]) for k, v in row.items()} for row in read.to_dicts()]
        assert rows == expected(report, name, columns)


def parsed(text: str | None, hint: Any) -> Any:
    if text is None or hint is str:
        guarded = (text or "").startswith(("'=", "'+", "'-", "'@"))
        return text[1:] if text and guarded else text
    return json.loads(text) if hint not in (int, float) else hint(text)


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_the_whole_report_lies_beside_the_tables(form: str, tmp_path: Path) -> None:
    path = shared_trace("hta_mi250_minitoy_training")
    export(path, tmp_path / "out", form=form)
    written = json.loads((tmp_path / "out" / "report.json").read_bytes())
    assert written == json.loads(build_report(load(path)).to_json())


@pytest.mark.slow
def test_events_hold_every_row_with_its_module(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    path = shared_trace("hta_v100_training")
    export(path, tmp_path / "out.parquet")
    analysis, report = load(path), build_report(load(path))
    file = parquet.ParquetFile(tmp_path / "out.parquet" / "events.parquet")
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
    export(path, tmp_path / "out.csv", steps=[steps[0]])
    with (tmp_path / "out.csv" / "events.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["step"] for row in rows} == {steps[0]}
    assert any(row["kind"] == "kernel" for row in rows)


class Odd(msgspec.Struct):
    text: str | None
    many: list[str]
    shares: dict[str, float] | None


def odd_table(*rows: Odd) -> Table:
    columns = {name: [getattr(row, name) for row in rows] for name in Odd.__struct_fields__}
    types = {"text": str, "many": list[str], "shares": dict[str, float]}
    return Table("odd", types, len(rows), lambda: iter([columns]))


ODD = (
    Odd("", [], None),
    Odd(None, ['a "b"', "c,\nd"], {"=sum": 1.5}),
    Odd('x,"y"\r\nz', ["é漢"], {}),
)


def test_csv_tells_an_empty_text_from_none_and_writes_nested_values_as_json(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    table = odd_table(*ODD)
    with CsvWriter(tmp_path / "odd.csv", table) as writer:
        for batch in table.batches():
            writer.write(batch)
    read = polars.read_csv(tmp_path / "odd.csv").to_dicts()
    assert [row["text"] for row in read] == [row.text for row in ODD]
    assert [json.loads(row["many"]) for row in read] == [row.many for row in ODD]
    assert [row["shares"] and json.loads(row["shares"]) for row in read] == [r.shares for r in ODD]


def test_parquet_holds_mappings_and_lists(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    table = odd_table(*ODD)
    with parquet_files.ParquetWriter(tmp_path / "odd.parquet", table) as writer:
        for batch in table.batches():
            writer.write(batch)
    read = parquet.read_table(tmp_path / "odd.parquet").to_pylist(maps_as_pydicts="strict")
    assert [row["text"] for row in read] == [row.text for row in ODD]
    assert [row["many"] for row in read] == [row.many for row in ODD]
    assert [row["shares"] for row in read] == [row.shares for row in ODD]


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1"])
def test_csv_names_are_no_formulas(name: str, tmp_path: Path) -> None:
    assert cell(name) == f'"\'{name}"'
    path = grid.write(tmp_path / "odd.json", grid.events("main ops [a  ]", {"a": name}))
    export(path, tmp_path / "out.csv")
    with (tmp_path / "out.csv" / "events.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["name"] == f"'{name}"


def test_csv_numbers_are_bare() -> None:
    assert [cell(v) for v in (-1.5, -3, 0.1, True, None, "a")] == [
        "-1.5",
        "-3",
        "0.1",
        "true",
        "",
        '"a"',
    ]


def test_pyarrow_is_asked_for_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(UsageError, match="pyarrow"):
        export(tmp_path / "missing.json", tmp_path / "out.parquet")
