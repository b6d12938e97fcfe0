"""The routes of SQL: bounded answers, mistakes as errors, and what there is to ask."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grid
import pytest
from flask.testing import FlaskClient
from ranks.traces import Spell, write_run

from tb_hookview.server import create_app, served
from tb_hookview.server import tables as routes
from tb_hookview.tables.catalogue import CATALOGUE
from tb_hookview.tables.table import Table

pytest.importorskip("duckdb", reason="needs duckdb: pip install duckdb")
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
            {"name": "calls", "type": "int64"},
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


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the tables whose rows are made, as they are."""
    names: list[str] = []
    to_arrow = Table.to_arrow

    def counted(table: Table[Any]) -> Any:
        names.append(table.name)
        return to_arrow(table)

    monkeypatch.setattr(Table, "to_arrow", counted)
    return names


def test_rows_that_a_query_has_read_are_not_made_again(
    client: FlaskClient, made: list[str]
) -> None:
    first = ask(client, "from host_rows")
    assert ask(client, "from host_rows") == first
    assert ask(client, "select count(*) from host_rows")["rows"] == [[len(first["rows"])]]
    assert made == ["host_rows"]
    some = ask(client, "from host_rows", step="ProfilerStep#2")
    assert 0 < len(some["rows"]) < len(first["rows"])


def test_rows_that_take_too_much_are_made_for_each_query(
    tmp_path: Path, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served, "BYTES", 1)
    client = create_app(grid.write(tmp_path / "t.json", grid.events(PICTURE))).test_client()
    assert ask(client, "from host_rows") == ask(client, "from host_rows")
    assert made == ["host_rows", "host_rows"]


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


@pytest.mark.parametrize("package", ["duckdb", "pyarrow"])
def test_without_a_package_the_view_says_how_to_get_it(
    client: FlaskClient, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = routes.find_spec
    monkeypatch.setattr(routes, "find_spec", lambda name: None if name == package else there(name))
    answer = client.get("/api/sql/tables").get_json()
    assert answer["missing"] == "pip install 'tb-hookview[sql]'"


@pytest.fixture(scope="module")
def of_run(tmp_path_factory: pytest.TempPathFactory, ranks_on_threads: None) -> FlaskClient:
    folder = tmp_path_factory.mktemp("runs")
    write_run(folder / "late", [Spell(), Spell(b=9.0), Spell()])
    write_run(folder / "alone", [Spell()])
    return create_app(folder).test_client()


def ask_run(client: FlaskClient, query: str, status: int = 200, run: str = "late") -> Any:
    answer = client.get("/api/ranks/sql", query_string={"run": run, "query": query})
    assert answer.status_code == status, answer.text
    assert len(answer.data) < MEGABYTE
    return answer.get_json()["rows"] if status == 200 else answer.get_json()["error"]["message"]


def test_of_a_run_each_row_names_its_trace(of_run: FlaskClient) -> None:
    rows = ask_run(of_run, "select worker, count(*) from steps group by 1 order by 1")
    assert rows == [["rank0", 5], ["rank1", 5], ["rank2", 5]]
    assert ask_run(of_run, "select distinct worker from steps", run="alone") == [["rank0"]]


def test_of_a_run_the_answer_is_that_of_each_trace(of_run: FlaskClient) -> None:
    query = "select name, calls from operators order by all"
    together = ask_run(of_run, "select worker, name, calls from operators order by all")
    for worker in ("rank0", "rank1", "rank2"):
        named = {"run": "late", "worker": worker, "query": query}
        alone = of_run.get("/api/sql", query_string=named).get_json()["rows"]
        assert alone
        assert [row[1:] for row in together if row[0] == worker] == alone


def test_of_a_run_as_a_whole(of_run: FlaskClient) -> None:
    assert ask_run(of_run, "select rank, module from stragglers") == [[1, "b"]]
    waits = ask_run(
        of_run,
        "select rank, sum(s.wait_us) > 0 from rank_steps s join ranks r on r.id = s.rank_id "
        "group by 1 order by 1",
    )
    assert waits == [[0, True], [1, False], [2, True]]


def test_a_query_on_a_run_is_refused_as_one_on_a_trace(of_run: FlaskClient) -> None:
    assert "(line 1, at 'selec')" in ask_run(of_run, "selec 1", 400)
    assert "only tables" in ask_run(of_run, "select * from read_text('/etc/passwd')", 400)
    assert "10,001 characters" in ask_run(of_run, "x" * 10_001, 400)
    assert "no run" in ask_run(of_run, "select 1", 404, run="../late")
    assert "run=" in of_run.get("/api/ranks/sql?query=select+1").get_json()["error"]["message"]


def test_tables_of_a_run_are_bounded(of_run: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "RUN_MEGABYTES", 0)
    said = ask_run(of_run, "select count(*) from steps", 400)
    assert said == "sql: steps of all traces takes more than 0 MB; query one trace"
    assert ask_run(of_run, "select count(*) from ranks") == [[3]]


def test_what_there_is_to_ask_of_a_run(of_run: FlaskClient) -> None:
    answer = of_run.get("/api/ranks/sql/tables").get_json()
    named = {table["name"]: [c["name"] for c in table["columns"]] for table in answer["tables"]}
    assert list(named) == ["ranks", "rank_steps", "collectives", "stragglers", *CATALOGUE]
    for name, columns in named.items():
        assert ("worker" in columns[:1]) == (name in CATALOGUE)
    types = {column["type"] for table in answer["tables"] for column in table["columns"]}
    assert types <= {"text", "integer", "number", "boolean", "json"}
    for name in ("ranks", "modules", "device_events"):
        assert [row[0] for row in ask_run(of_run, f"from (describe {name})")] == named[name]
