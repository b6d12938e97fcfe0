"""The routes about a run: bounded answers, computed once, until a file changes."""

from __future__ import annotations

import gzip
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from ranks.traces import Spell, write_run

import tb_hookview as hookview
from tb_hookview.export.merged import write_merged
from tb_hookview.ranks import overview as overviews
from tb_hookview.server import create_app, served

MEGABYTE = 1_000_000
pytestmark = pytest.mark.usefixtures("ranks_on_threads")
LATE = [Spell(), Spell(b=9.0), Spell()]


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    write_run(folder / "late", LATE, clocks=[0.0, 700.0, -300.0])
    write_run(folder / "alone", [Spell()])
    return folder


@pytest.fixture(scope="module")
def client(logdir: Path) -> FlaskClient:
    return create_app(logdir).test_client()


def ask(client: FlaskClient, path: str = "", status: int = 200, **query: Any) -> Any:
    answer = client.get(f"/api/ranks{path}", query_string={"run": "late", **query})
    assert answer.status_code == status, answer.text
    assert len(answer.data) < MEGABYTE
    return answer.get_json() if status == 200 else answer.get_json()["error"]["message"]


def test_the_late_rank_of_a_run_and_where_its_trace_is(client: FlaskClient) -> None:
    answer = ask(client)
    (late,) = answer["stragglers"]
    assert (late["rank"], late["module"], late["reason"]) == (1, "b", "module")
    assert (answer["ranks"], answer["workers"]) == ([0, 1, 2], ["rank0", "rank1", "rank2"])
    assert answer["start_us"] == [1000e3, 1700e3, 700e3]
    assert answer["nothing"] is None
    assert answer["steps"] == [f"ProfilerStep#{step}" for step in range(5)]
    (kind,) = answer["kinds"]
    assert (kind["name"], kind["count"], kind["bytes"]) == ("all_reduce", 5, 20_000)
    assert sum(kind["transfers"]) == sum(kind["waits"]) == 5
    (size,) = answer["sizes"]
    assert (size["bytes"], size["ranks"], size["count"]) == (4000, 3, 5)
    assert size["bus_gb_per_s"] == pytest.approx(4000 / 980e3 * 4 / 3, rel=0.01)


def test_a_matrix_has_a_row_for_each_step_and_a_column_for_each_rank(client: FlaskClient) -> None:
    answer = ask(client, "/steps", quantity=["wait", "duration"])
    assert (answer["offset"], answer["left_out"], len(answer["steps"])) == (0, 0, 5)
    for wait, duration in zip(*answer["values"].values(), strict=True):
        assert wait == pytest.approx([6000, 0, 6000], abs=1)
        assert duration == pytest.approx([12_000] * 3, abs=1)
    rows = ask(client, "/table/rank_steps", filter="name:eq:ProfilerStep#2")["rows"]
    assert [row["wait_us"] for row in rows] == answer["values"]["wait"][2]


def test_means_of_a_rank_are_of_its_steps_that_count(client: FlaskClient) -> None:
    steps = ask(client, "/table/rank_steps")["rows"]
    for rank in ask(client, "/table/ranks")["rows"]:
        counted = [row for row in steps if row["rank_id"] == rank["id"] and row["counts"]]
        assert 0 < rank["steps"] == len(counted) < len(steps) / 3
        for column in ("compute_us", "idle_us", "wait_us"):
            mean = sum(row[column] for row in counted) / len(counted)
            assert rank[column] == pytest.approx(mean)


def test_a_matrix_is_cut_into_steps_that_fit(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overviews, "CELLS", 7)
    first = ask(client, "/steps", quantity="idle")
    assert (len(first["steps"]), first["left_out"]) == (2, 3)
    last = ask(client, "/steps", quantity="idle", offset=4)
    assert (last["steps"], last["left_out"]) == (["ProfilerStep#4"], 0)


def test_collectives_are_pages_of_a_table(client: FlaskClient) -> None:
    page = ask(client, "/table/collectives", sort="-wait_us", limit=2)
    assert (page["total"], len(page["rows"]), page["left_out"]) == (5, 2, 3)
    assert {row["late_rank"] for row in page["rows"]} == {1}
    assert ask(client, "/table/collectives", filter="late_rank:eq:0")["total"] == 0
    for row in page["rows"]:
        assert 1_700_000 < row["late_start_us"] < 1_760_000


def test_a_collective_on_all_ranks_and_what_each_ran_before_it(client: FlaskClient) -> None:
    shown = ask(client, "/collective", id=2)
    assert shown["refused"] is None
    assert [part["late"] for part in shown["ranks"]] == [False, True, False]
    around = ask(client, "/collective/rank", id=2, rank=1)
    assert around["rank"] == 1
    host = around["lanes"][0]["spans"]
    assert {span["module"] for span in host if span["kind"] == "module"} == {"a", "b"}
    ends = [span["start_us"] + span["duration_us"] for span in host]
    assert max(ends) <= shown["length_us"] + 0.01


def test_the_trace_of_a_collective_is_that_of_the_command(
    client: FlaskClient, logdir: Path, tmp_path: Path
) -> None:
    answer = client.get("/api/ranks/collective/file", query_string={"run": "late", "id": 2})
    assert answer.headers["Content-Disposition"] == "attachment; filename=collective-2.json.gz"
    out = tmp_path / "merged.json"
    with ThreadPoolExecutor(1) as executor:
        write_merged(hookview.analyze_run(logdir / "late", executor), out, collective=2)
    assert gzip.decompress(answer.data) == out.read_bytes()


@pytest.mark.parametrize(
    ("path", "query", "status", "says"),
    [
        ("/collective/file", {"id": "99"}, 404, "no collective 99"),
        ("/collective", {}, 400, "the query needs id=NUMBER"),
        ("/collective", {"id": "99"}, 404, "no collective 99"),
        ("/collective", {"id": "2", "offset": "x"}, 400, "not a whole number"),
        ("/collective/rank", {"id": "2"}, 400, "the query needs rank=NUMBER"),
        ("/collective/rank", {"id": "2", "rank": "7"}, 404, "no rank 7"),
        ("/collective/rank", {"id": "99", "rank": "1"}, 404, "no collective 99"),
        ("", {"run": "gone"}, 404, "no run is called 'gone'"),
        ("", {"run": ""}, 400, "run=NAME"),
        ("/steps", {"quantity": "joy"}, 400, "quantity=joy: not one of"),
        ("/steps", {}, 400, "needs quantity=NAME"),
        ("/steps", {"quantity": "wait", "offset": "-1"}, 400, "not a whole number"),
        ("/table/kernels", {}, 404, "no table 'kernels' of a run"),
        ("/table/collectives", {"sort": "joy"}, 400, "no column 'joy'"),
    ],
)
def test_what_is_not_there_is_one_line(
    client: FlaskClient, path: str, query: dict[str, str], status: int, says: str
) -> None:
    assert says in ask(client, path, status, **query)


def test_one_rank_says_what_to_record(client: FlaskClient) -> None:
    answer = ask(client, run="alone")
    assert "one rank only: record every rank" in answer["nothing"]
    assert answer["ranks"] == [0]


def test_damaged_and_missing_ranks_are_listed(tmp_path: Path) -> None:
    write_run(tmp_path / "late", [*LATE, Spell()])
    (tmp_path / "late" / "rank0.1.pt.trace.json.gz").unlink()
    (tmp_path / "late" / "rank3.1.pt.trace.json.gz").write_bytes(b"\x1f\x8b nothing")
    answer = ask(create_app(tmp_path).test_client())
    assert (answer["missing_ranks"], answer["missing"]) == ([0, 3], 2)
    assert answer["unreadable_traces"] == 1
    assert answer["workers"] == ["rank1", "rank2"]


def test_a_run_is_read_once_and_again_when_a_file_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[tuple[str, ...]] = []

    def counted(name: str, files: Any, **given: Any) -> Any:
        read.append(files.workers)
        return real(name, files, **given)

    real = served.analyze_traces
    monkeypatch.setattr(served, "analyze_traces", counted)
    client = create_app(write_run(tmp_path / "late", LATE).parent).test_client()
    assert ask(client, "/progress")["stage"] == "waiting"
    assert ask(client)["stragglers"][0]["module"] == "b"
    ask(client, "/steps", quantity="wait")
    assert ask(client, "/progress")["stage"] == "done"
    assert len(read) == 1
    write_run(tmp_path / "late", [Spell(), Spell(a=9.0), Spell()])
    assert ask(client)["stragglers"][0]["module"] == "a"
    assert len(read) == 2


def test_a_link_out_of_the_log_directory_is_no_rank(tmp_path: Path) -> None:
    write_run(tmp_path / "logs" / "late", LATE)
    outside = write_run(tmp_path / "outside", [*LATE, Spell()]) / "rank3.1.pt.trace.json.gz"
    (tmp_path / "logs" / "late" / outside.name).symlink_to(outside)
    assert ask(create_app(tmp_path / "logs").test_client())["workers"] == [
        "rank0", "rank1", "rank2"
    ]  # fmt: skip


def test_the_pages_of_a_table_are_arrow_where_asked(client: FlaskClient) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow: pip install pyarrow")
    answer = client.get(
        "/api/ranks/table/stragglers?run=late",
        headers={"Accept": "application/vnd.apache.arrow.stream"},
    )
    assert pyarrow.ipc.open_stream(answer.data).read_all()["rank"].to_pylist() == [1]


def test_answers_are_compressed(client: FlaskClient) -> None:
    answer = client.get("/api/ranks?run=late", headers={"Accept-Encoding": "gzip"})
    assert gzip.decompress(answer.data).startswith(b"{")
