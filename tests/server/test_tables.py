"""`api/table`: rows of a table over HTTP, as JSON and Arrow."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from tb_hookview.loading import load
from tb_hookview.report.build import build_report
from tb_hookview.report.result import Report
from tb_hookview.server import create_app
from tb_hookview.server.openapi import build
from tb_hookview.server.tables import ARROW
from tb_hookview.tables.catalogue import CATALOGUE

NEWEST = {"run": "rank2", "worker": "host_1"}
DESCRIPTION = build()


@pytest.fixture
def client(read_once: FlaskClient) -> FlaskClient:
    return read_once


@pytest.fixture(scope="module")
def report(training: Path) -> Report:
    return build_report(load(training))


def page(client: FlaskClient, table: str, **query: Any) -> Any:
    answer = client.get(f"/api/table/{table}", query_string={**NEWEST, **query})
    assert answer.status_code == 200, answer.text
    return answer.get_json()


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_table_is_served_as_described(client: FlaskClient, report: Report, name: str) -> None:
    validation = pytest.importorskip("jsonschema_rs", reason="needs schemathesis: make setup")
    answer = page(client, name, limit=10_000)
    columns = report.table(name).to_columns()
    expected = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    assert answer["rows"] == expected[:10_000]
    assert (answer["table"], answer["key"]) == (name, "id")
    assert answer["total"] == len(expected)
    assert answer["left_out"] == max(len(expected) - 10_000, 0)
    described = DESCRIPTION["paths"]["/api/table/{table}"]["get"]["responses"]["200"]
    schema = {
        **described["content"]["application/json"]["schema"],
        "components": DESCRIPTION["components"],
    }
    validation.validator_for(schema).validate(answer)


def test_rows_are_filtered_sorted_and_cut(client: FlaskClient) -> None:
    answer = page(
        client,
        "device_events",
        filter=["category:eq:kernel", "duration_us:ge:1"],
        sort=["-duration_us"],
        offset=2,
        limit=3,
        columns="id,duration_us",
    )
    whole = page(client, "device_events", limit=10_000)["rows"]
    kernels = [row for row in whole if row["category"] == "kernel" and row["duration_us"] >= 1]
    kernels.sort(key=lambda row: -row["duration_us"])
    assert answer["rows"] == [
        {name: row[name] for name in ("id", "duration_us")} for row in kernels[2:5]
    ]
    assert (answer["total"], answer["offset"]) == (len(kernels), 2)
    assert answer["left_out"] == len(kernels) - 5
    assert answer["columns"][1]["unit"] == "us"


def test_steps_narrow_a_table(client: FlaskClient, report: Report) -> None:
    step = report.data.steps[0].name
    for name in ("syncs", "host_rows"):
        answer = page(client, name, step=step, limit=10_000)
        assert {row["step"] for row in answer["rows"]} <= {step}
        assert 0 < answer["total"] < len(report.table(name)) or name == "syncs"


def test_arrow_holds_the_same_rows(client: FlaskClient) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow: pip install pyarrow")
    query = {**NEWEST, "sort": "-start_us", "limit": "7"}
    for name in ("gaps", "steps"):
        answer = client.get(f"/api/table/{name}", query_string=query, headers={"Accept": ARROW})
        assert (answer.status_code, answer.mimetype) == (200, ARROW)
        assert "Accept" in answer.headers["Vary"]
        read = pyarrow.ipc.open_stream(answer.data).read_all()
        same = page(client, name, sort="-start_us", limit="7")
        assert read.to_pylist() == same["rows"]
        metadata = read.schema.metadata
        assert (metadata[b"key"], int(metadata[b"total"])) == (b"id", same["total"])
        assert int(metadata[b"left_out"]) == same["left_out"]
        assert read.schema.field("start_us").metadata[b"unit"] == b"us"


def test_without_pyarrow_arrow_alone_is_not_acceptable(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    answer = client.get("/api/table/steps", query_string=NEWEST, headers={"Accept": ARROW})
    assert answer.status_code == 406
    error = answer.get_json()["error"]
    assert error["kind"] == "usage"
    assert "pyarrow" in error["message"]
    both = {"Accept": f"{ARROW}, application/json;q=0.5"}
    answer = client.get("/api/table/steps", query_string=NEWEST, headers=both)
    assert (answer.status_code, answer.mimetype) == (200, "application/json")


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ({"limit": "10001"}, "limit="),
        ({"limit": "-1"}, "limit="),
        ({"limit": "²"}, "limit="),
        ({"offset": "many"}, "offset="),
        ({"sort": "cost"}, "sort"),
        ({"filter": "api"}, "filter="),
        ({"filter": "duration_us:ge:long"}, "filter="),
        ({"columns": "api,cost"}, "columns"),
    ],
)
def test_errors_name_the_parameter(
    client: FlaskClient, query: dict[str, str], parameter: str
) -> None:
    answer = client.get("/api/table/syncs", query_string={**NEWEST, **query})
    assert answer.status_code == 400
    error = answer.get_json()["error"]
    assert error["kind"] == "usage"
    assert error["message"].startswith(parameter)
    assert "\n" not in error["message"]


def test_what_is_not_there_is_not_found(client: FlaskClient) -> None:
    for path, query in (
        ("/api/table/waits", NEWEST),
        ("/api/table/syncs", {**NEWEST, "step": "9"}),
        ("/api/table/syncs", {**NEWEST, "run": "rank3"}),
    ):
        answer = client.get(path, query_string=query)
        assert answer.status_code == 404
        assert answer.get_json()["error"]["kind"] == "not_found"


def test_an_application_without_traces_has_no_tables() -> None:
    answer = create_app(None).test_client().get("/api/table/syncs", query_string=NEWEST)
    assert answer.status_code == 404


def test_a_page_that_the_browser_has_is_not_sent_again(client: FlaskClient) -> None:
    """In the form that it has: the Arrow form of the same rows has another tag."""
    asked = "/api/table/modules?run=rank2&worker=host_1&limit=2"
    first = client.get(asked)
    tag = first.headers["ETag"]
    again = client.get(asked, headers={"If-None-Match": tag})
    assert (again.status_code, again.data, again.headers["Vary"]) == (304, b"", "Accept")
    arrow = client.get(asked, headers={"If-None-Match": tag, "Accept": ARROW})
    assert arrow.status_code != 304
    other = client.get(asked.replace("limit=2", "limit=1"), headers={"If-None-Match": tag})
    assert other.status_code == 200
