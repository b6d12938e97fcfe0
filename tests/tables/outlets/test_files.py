"""Odd values in files, read back by other libraries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tb_hookview.schema.terms import Us
from tb_hookview.tables.outlets.files import cell
from tb_hookview.tables.table import Table


class Odd(msgspec.Struct, frozen=True):
    """A row of odd values."""

    id: int
    """Its number."""
    text: str | None
    many: list[str]
    dims: list[Any] | None
    time_us: Us | None = None
    """How long
    it took."""


ODD = (
    Odd(0, "", [], None),
    Odd(1, None, ['a "b"', "c,\nd"], [1, [2]], 0.5),
    Odd(2, 'x,"y"\r\nz', ["é漢"], []),
)
TABLE = Table(Odd, ODD, "odd")


def test_csv_tells_an_empty_text_from_none_and_writes_lists_as_json(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars", reason="needs polars: pip install polars")
    TABLE.write(tmp_path / "odd.csv", "csv")
    read = polars.read_csv(tmp_path / "odd.csv").to_dicts()
    assert [row["text"] for row in read] == [row.text for row in ODD]
    assert [json.loads(row["many"]) for row in read] == [row.many for row in ODD]
    assert [row["dims"] and json.loads(row["dims"]) for row in read] == [r.dims for r in ODD]


def test_json_is_a_list_of_rows(tmp_path: Path) -> None:
    TABLE.write(tmp_path / "odd.json", "json")
    expected = [msgspec.to_builtins(row) for row in ODD]
    assert json.loads((tmp_path / "odd.json").read_text()) == expected
    assert json.loads(TABLE.to_json()) == expected
    Table(Odd, (), "none").write(tmp_path / "none.json", "json")
    assert json.loads((tmp_path / "none.json").read_text()) == []


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_arrow_types_units_and_definitions_are_declared(form: str, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow: pip install pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow: pip install pyarrow")
    for table in (TABLE, Table(Odd, (), "odd")):
        file = tmp_path / "odd"
        table.write(file, form)
        if form == "parquet":
            read = parquet.read_table(file)
        else:
            read = pyarrow.ipc.open_stream(file.read_bytes()).read_all()
        types = [str(of) for of in read.schema.types]
        assert types[:3] == ["int64", "string", "list<item: string>"] or form == "parquet"
        assert types[4] == "double"
        assert len(read) == len(table)
        assert read.schema.metadata[b"table"] == b"odd"
        assert read.schema.metadata[b"description"] == b"A row of odd values."
        about = read.schema.field("time_us").metadata
        assert (about[b"unit"], about[b"description"]) == (b"us", b"How long it took.")
        assert read["many"].to_pylist() == [row.many for row in table]
        assert read["time_us"].to_pylist() == [row.time_us for row in table]


def test_csv_numbers_are_bare() -> None:
    assert [cell(v) for v in (-1.5, -3, 0.1, True, None, "a")] == [
        "-1.5",
        "-3",
        "0.1",
        "true",
        "",
        '"a"',
    ]
