"""No answer is over a megabyte, and what an answer leaves out is counted and can be asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grid
import pytest
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st

from tb_hookview import analyze
from tb_hookview.errors import UsageError
from tb_hookview.ranks.overview import QUANTITIES
from tb_hookview.ranks.result import TABLES
from tb_hookview.server import create_app
from tb_hookview.server.answers import MOST_BYTES, bounded, fitting, level
from tb_hookview.server.routes import ROUTES
from tb_hookview.server.tables import ARROW
from tb_hookview.tables.catalogue import CATALOGUE

OPERATORS = 7500


@given(st.lists(st.integers(0, 50)), st.integers(0, 300))
def test_the_level_is_the_highest_at_which_all_fit(sizes: list[int], room: int) -> None:
    found = level(sorted(sizes), room)
    fits = [most for most in range(max(sizes, default=0) + 1) if cost(sizes, most) <= room]
    assert found == (max(fits) if fits else 0)


def cost(sizes: list[int], most: int) -> int:
    return sum(min(size, most) for size in sizes)


def test_what_fits_stays_as_it_is() -> None:
    answer = {"rows": [{"a": 1}], "other": 2.5}
    assert json.loads(bounded(answer)) == answer


def test_the_largest_lists_lose_their_last_rows() -> None:
    rows = [{"name": "x" * 1000, "row": row} for row in range(2000)]
    answer = {"head": 1, "few": rows[:10], "in": {"many": rows}}
    body = bounded(answer)
    assert 0.9 * MOST_BYTES < len(body) <= MOST_BYTES
    found = json.loads(body)
    kept = found["in"]["many"]
    assert (found["head"], found["few"]) == (1, rows[:10])
    assert kept == rows[: len(kept)]
    assert found["cut"] == {"in.many": 2000 - len(kept)}


@pytest.mark.parametrize("answer", [{"time": [0.5] * 400_000}, ["x" * 1000] * 2000])
def test_what_has_no_rows_to_lose_is_refused_in_a_line(answer: Any) -> None:
    with pytest.raises(UsageError, match="ask for less") as caught:
        bounded(answer)
    assert "\n" not in str(caught.value)


def test_rows_that_fit_are_counted_in_bytes() -> None:
    assert fitting(["é" * 10] * 5, 50) == 2  # two bytes each, quotes, a comma


def test_rows_past_the_limit_are_not_written() -> None:
    rows = iter(["x" * 10] * 100)
    assert fitting(rows, 50) == 3
    assert len(list(rows)) == 96, "one more was looked at"


def event(category: str, name: str, thread: int, start: int, length: int, **args: int) -> Any:
    place = {"pid": 0 if "device" in args else 1, "tid": thread, "ts": start, "dur": length}
    return {"ph": "X", "cat": category, "name": name, **place, "args": args}


def operator(number: int) -> Iterator[Any]:
    """One with its launch and its kernel; each third waits for that."""
    start, same = 10 * number, {"correlation": number + 1}
    yield event("cpu_op", "aten::mm", 1, start + 1, 8)
    yield event("cuda_runtime", "cudaLaunchKernel", 1, start + 2, 2, **same)
    yield event("kernel", "gemm", 7, start + 4, 4, device=0, stream=7, **same)
    if number % 3 == 0:
        yield event("cuda_runtime", "cudaStreamSynchronize", 1, start + 5, 3)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two steps, of which each list of events is over a megabyte, and that of syncs too."""
    bounds = ((0, 10 * OPERATORS), (10 * OPERATORS, 50))
    steps = [event("user_annotation", f"ProfilerStep#{n}", 1, *at) for n, at in enumerate(bounds)]
    traced = [row for number in range(OPERATORS) for row in operator(number)]
    return grid.write(tmp_path_factory.mktemp("runs") / "worker.1.pt.trace.json", steps + traced)


@pytest.fixture(scope="module")
def client(large: Path) -> FlaskClient:
    return create_app(large).test_client()


@pytest.fixture(scope="module")
def named(client: FlaskClient) -> dict[str, str]:
    (run,) = client.get("/api/runs").json["runs"]
    return {"run": run["name"], "worker": run["workers"][0]["name"]}


def questions(client: FlaskClient, named: dict[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The largest question of every route below api."""
    length = client.get("/api/timeline", query_string=named).json["duration_us"]
    whole = {"start": 0, "end": length, "width": 16_384}
    report = client.get("/api/report", query_string=named).json
    paths = [module["path"] for module in report["modules"]][:50]
    yield from (("/api/runs", {}), ("/api/runs/known", {}), ("/api/rules", {}))
    yield from (("/api/progress", {}), ("/api/report", {}))
    yield from (("/api/report/rows", {"table": "syncs"}), ("/api/timeline", {}))
    for table in CATALOGUE:
        yield "/api/table/{table}", {"table": table, "limit": 10_000}
    yield from (("/api/sql/tables", {}), ("/api/ranks", {}), ("/api/ranks/progress", {}))
    yield "/api/ranks/steps", {"quantity": list(QUANTITIES)}
    for route in ("", "/rank", "/file"):
        yield f"/api/ranks/collective{route}", {"id": 0, "rank": 0}
    for table in TABLES:
        yield "/api/ranks/table/{table}", {"table": table, "limit": 10_000}
    for query in ("from events", "from syncs"):
        yield from (("/api/sql", {"query": query}), ("/api/ranks/sql", {"query": query}))
    yield "/api/ranks/sql/tables", {}
    yield "/api/module", {"path": paths[0] if paths else ""}
    yield "/api/module/bars", {"path": paths, "measure": "backward_host_us"}
    yield "/api/module/search", {"q": "e"}
    yield "/api/compare", {f"other_{key}": value for key, value in named.items()}
    yield from (("/api/whatif", {}), ("/api/whatif/lanes", {}), ("/api/whatif/window", whole))
    yield from (("/api/memory", {"points": 5000}), ("/api/timeline/window", whole))
    yield from (("/api/timeline/event", {"id": 1}), ("/api/timeline/search", {"q": "a", **whole}))
    yield from (("/api/timeline/statistics", whole), ("/api/dry_run", {}), ("/api/history", {}))


@pytest.mark.usefixtures("ranks_on_threads")
def test_no_answer_about_a_large_trace_is_over_a_megabyte(
    client: FlaskClient, named: dict[str, str]
) -> None:
    asked = set()
    for route, query in questions(client, named):
        asked.add(route)
        path = route.format(**query)
        answer = client.get(path, query_string={**named, **query})
        assert len(answer.data) <= MOST_BYTES, (path, len(answer.data))
        assert answer.status_code == 200 or len(answer.json["error"]["message"]) < 300, path
    assert asked == {route.path for route in ROUTES if route.path.startswith("/api/")}


@pytest.mark.parametrize("table", CATALOGUE)
def test_no_page_of_a_table_for_arrow_is_over_a_megabyte(
    client: FlaskClient, named: dict[str, str], table: str
) -> None:
    pytest.importorskip("pyarrow", reason="needs pyarrow: pip install pyarrow")
    query = {**named, "limit": 10_000}
    answer = client.get(f"/api/table/{table}", query_string=query, headers={"Accept": ARROW})
    assert (answer.status_code, answer.mimetype) == (200, ARROW)
    assert len(answer.data) <= MOST_BYTES


def test_the_rows_that_a_report_leaves_out_follow(
    client: FlaskClient, named: dict[str, str], large: Path
) -> None:
    report = client.get("/api/report", query_string=named).json
    assert report["cut"]["syncs"] > 0
    whole = json.loads(analyze(large).to_json())
    for table, lost in report["cut"].items():
        rows = report[table]
        while len(rows) < len(whole[table]):
            query = {**named, "table": table, "offset": len(rows)}
            page = client.get("/api/report/rows", query_string=query).json
            assert (page["offset"], page["total"]) == (len(rows), len(whole[table]))
            rows = rows + page["rows"]
        assert rows == whole[table]
        assert lost == len(whole[table]) - len(report[table])


def test_a_window_that_is_too_large_is_merged_further(
    client: FlaskClient, named: dict[str, str]
) -> None:
    length = client.get("/api/timeline", query_string=named).json["duration_us"]
    query = {**named, "start": 0, "end": length}
    wide = client.get("/api/timeline/window", query_string={**query, "width": 16_384}).json
    assert wide["width"] < 16_384
    same = client.get("/api/timeline/window", query_string={**query, "width": wide["width"]}).json
    assert wide == same


def test_a_page_of_a_table_says_what_it_leaves_out(
    client: FlaskClient, named: dict[str, str]
) -> None:
    page = client.get("/api/table/events", query_string={**named, "limit": 10_000}).json
    assert 0 < len(page["rows"]) < 10_000
    assert page["left_out"] == page["total"] - len(page["rows"])


@pytest.mark.parametrize("table", ["", "trace", "schema", "nothing", "__class__"])
def test_rows_of_what_is_no_table_are_refused(logdir: Path, table: str) -> None:
    says = "not a list of rows" if table else "needs table=NAME"
    query = {"run": "rank2", "worker": "host_1", "table": table}
    answer = create_app(logdir).test_client().get("/api/report/rows", query_string=query)
    assert answer.status_code == 400
    assert says in answer.json["error"]["message"]
