"""The routes of SQL: bounded answers, mistakes as errors, and what there is to ask."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grid
import pytest
from flask.testing import FlaskClient

from tb_hookview.server import create_app
from tb_hookview.tables.catalogue import CATALOGUE

pytest.importorskip("duckdb")
MEGABYTE = 1_000_000
PICTURE = """
    main notes [ProfilerStep#1     ][ProfilerStep#2      ]
    main ops    [aten::mm         ]  [aten::mm         ]
"""


@pytest.fixture
def client(tmp_path: Path) -> FlaskClient:
    return create_app(grid.write(tmp_path / "t.json", grid.events(PICTURE))).test_client()


def ask(client: FlaskClient, query: str, status: int = 200, **more: Any) -> Any:
    (run, *_) = client.get("/api/runs").get_json()["runs"]
    named = {"run": run["name"], "worker": run["workers"][0]["name"], "query": query}
    answer = client.get("/api/sql", query_string={**named, **more})
    assert answer.status_code == status, answer.text
    assert len(answer.data) < MEGABYTE
    return answer.get_json() if status == 200 else answer.get_json()["error"]


def test_rows_with_their_columns(client: FlaskClient) -> None:
    query = "select name, count(*) as n, sum(calls) as calls from operators group by 1 order by 1"
    assert ask(client, query + " limit 1") == {
        "columns": [
            {"name": "name", "type": "string"},
            {"name": "n", "type": "int64"},
            {"name": "calls", "type": "decimal128(38, 0)"},
        ],
        "rows": [["aten::mm", 1, 2.0]],
        "total": 1,
    }


def test_a_table_that_is_computed(client: FlaskClient) -> None:
    rows = ask(client, "select count(*) from host_rows a join host_rows b using (id)")["rows"]
    assert rows == ask(client, "select count(*) from host_rows")["rows"]
    assert rows[0][0] > 0


def test_of_some_steps(client: FlaskClient) -> None:
    query = "select sum(calls) from operators where name = 'aten::mm'"
    assert ask(client, query)["rows"] == [[2]]
    assert ask(client, query, step="ProfilerStep#2")["rows"] == [[1]]


def test_a_mistake_is_an_error_of_one_line(client: FlaskClient) -> None:
    assert ask(client, "selec 1", 400)["message"] == (
        "sql: syntax error at or near \"selec\" (line 1, at 'selec')"
    )
    assert "only tables" in ask(client, "select * from read_text('/etc/passwd')", 400)["message"]
    assert "10,001 characters" in ask(client, "x" * 10_001, 400)["message"]


def test_an_answer_stays_below_a_megabyte_and_says_how_many_rows_there_are(
    client: FlaskClient,
) -> None:
    long = ask(client, "select repeat('x', 1000) from range(2000)")
    assert 800 < len(long["rows"]) < 1000
    assert long["total"] == 2000
    many = ask(client, "from range(20000)")
    assert (len(many["rows"]), many["total"]) == (10_000, None)


def test_numbers_that_json_has_not(client: FlaskClient) -> None:
    query = (
        "select 170141183460469231731687303715884105727 a, 'nan'::double b, 1.5::decimal(4, 1) c"
    )
    assert ask(client, query)["rows"] == [[pytest.approx(1.7e38, rel=0.01), None, 1.5]]


def test_what_there_is_to_ask(client: FlaskClient) -> None:
    answer = client.get("/api/sql/tables").get_json()
    assert answer["missing"] is None
    assert [table["name"] for table in answer["tables"]] == list(CATALOGUE)
    named = {table["name"]: [c["name"] for c in table["columns"]] for table in answer["tables"]}
    for name in ("modules", "device_events"):
        described = ask(client, f"select column_name from (describe {name})")["rows"]
        assert [row[0] for row in described] == named[name]
