"""The routes under api/: what they answer, and what becomes of a bad question."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

import tb_hookview
from tb_hookview.rules.catalogue import RULES
from tb_hookview.server import create_app

NEWEST = {"run": "rank2", "worker": "host_1"}


def test_runs_are_in_natural_order_with_the_newest_trace_first(
    client: FlaskClient, logdir: Path
) -> None:
    answer = client.get("/api/runs").get_json()
    assert answer["logdir"] == str(logdir)
    assert answer["version"] == tb_hookview.__version__
    assert [run["name"] for run in answer["runs"]] == ["rank2", "rank10"]
    (worker,) = answer["runs"][0]["workers"]
    assert worker["name"] == "host_1"
    assert [trace["id"] for trace in worker["traces"]] == ["1700000000456", "1700000000123"]
    newest = worker["traces"][0]
    path = logdir / "rank2" / newest["file"]
    assert newest["bytes"] == path.stat().st_size
    assert newest["modified"] == path.stat().st_mtime


def test_runs_are_listed_without_being_read(client: FlaskClient, logdir: Path) -> None:
    (logdir / "broken").mkdir()
    (logdir / "broken" / "host.1.pt.trace.json").write_bytes(b"\0")
    names = [run["name"] for run in client.get("/api/runs").get_json()["runs"]]
    assert names == ["broken", "rank2", "rank10"]


def test_a_run_that_appears_is_listed_at_once(client: FlaskClient, logdir: Path) -> None:
    client.get("/api/runs")
    (logdir / "rank10").rename(logdir / "rank3")
    names = [run["name"] for run in client.get("/api/runs").get_json()["runs"]]
    assert names == ["rank2", "rank3"]


def test_the_report_is_what_analyze_returns(client: FlaskClient, newest: Path) -> None:
    assert client.get("/api/report", query_string=NEWEST).get_json() == json.loads(
        tb_hookview.analyze(newest).to_json()
    )


def test_an_older_trace_is_chosen_by_its_id(client: FlaskClient) -> None:
    def devices(**more: str) -> list[Any]:
        answer = client.get("/api/report", query_string={**NEWEST, **more}).get_json()
        found: list[Any] = answer["trace"]["devices"]
        return found

    assert devices()
    assert devices(trace="1700000000456")
    assert devices(trace="1700000000123") == []


def test_steps_narrow_the_report(client: FlaskClient) -> None:
    def steps(names: list[str]) -> list[str]:
        answer = client.get("/api/report", query_string={**NEWEST, "step": names}).get_json()
        return [step["name"] for step in answer["steps"]]

    both = ["ProfilerStep#1", "ProfilerStep#2"]
    assert steps([]) == both
    assert steps(["ProfilerStep#2"]) == ["ProfilerStep#2"]
    assert steps(both) == both


def test_the_rules_are_those_that_traces_are_held_against(client: FlaskClient) -> None:
    told = client.get("/api/rules").get_json()
    assert [rule["id"] for rule in told] == [rule.id for rule in RULES]
    assert all(rule["title"] and rule["fix"] and rule["reference"] for rule in told)
    assert [rule["id"] for rule in told if not rule["visible"]] == [
        rule.id for rule in RULES if not rule.visible
    ]


def test_a_module_is_told_by_its_path() -> None:
    recorded = Path(__file__).parents[1] / "data" / "recorder_v1.pt.trace.json.gz"
    client = create_app(recorded).test_client()
    (run,) = client.get("/api/runs").get_json()["runs"]
    query = {"run": run["name"], "worker": run["workers"][0]["name"]}
    for module in client.get("/api/report", query_string=query).get_json()["modules"]:
        answer = client.get("/api/module", query_string={**query, "path": module["path"]})
        told = answer.get_json()
        assert told["path"] == module["path"]
        assert told["calls"]["count"] == module["calls"]
        host = sum(node["self_host_us"] for node in told["nodes"])
        assert host == pytest.approx(module["backward"]["self_host_us"])


def test_progress_is_waiting_until_asked_for_and_done_afterwards(
    client: FlaskClient, newest: Path
) -> None:
    def progress() -> Any:
        return client.get("/api/progress", query_string=NEWEST).get_json()

    assert progress() == {"stage": "waiting", "done": None, "bytes": None, "events": None}
    client.get("/api/report", query_string=NEWEST)
    size = newest.stat().st_size
    assert progress() == {"stage": "done", "done": 1.0, "bytes": size, "events": 220}


@pytest.mark.parametrize(
    ("url", "status", "kind", "says"),
    [
        ("/api/report", 400, "usage", "run="),
        ("/api/report?run=rank2", 400, "usage", "worker="),
        ("/api/report?run=rank2&worker=", 400, "usage", "worker="),
        ("/api/report?run=rank3&worker=host_1", 404, "not_found", "rank3"),
        ("/api/report?run=rank2&worker=host_9", 404, "not_found", "host_9"),
        ("/api/report?run=rank2&worker=host_1&trace=7", 404, "not_found", "7"),
        ("/api/report?run=rank2&worker=host_1&step=ProfilerStep%239", 404, "not_found", "#9"),
        ("/api/progress?run=rank2&worker=host_9", 404, "not_found", "host_9"),
        ("/api/module?run=rank2&worker=host_1", 400, "usage", "path="),
        ("/api/module?run=rank2&worker=host_1&path=no", 404, "not_found", "no"),
        ("/api/module/bars?run=rank2&worker=host_1&measure=us", 400, "usage", "measure"),
        ("/api/module/search?run=rank2&worker=host_1", 400, "usage", "q="),
        ("/api/nothing", 404, "not_found", "/api/nothing"),
        ("/api/report?run=broken&worker=host", 422, "trace", "host.1.pt.trace.json"),
    ],
)
def test_a_bad_question_is_answered_with_its_reason(
    client: FlaskClient, logdir: Path, url: str, status: int, kind: str, says: str
) -> None:
    (logdir / "broken").mkdir()
    (logdir / "broken" / "host.1.pt.trace.json").write_bytes(b"%PDF-1.7")
    answer = client.get(url)
    assert answer.status_code == status
    error = answer.get_json()["error"]
    assert error["kind"] == kind
    assert says in error["message"]
    assert "\n" not in error["message"]


def test_only_get_is_answered(client: FlaskClient) -> None:
    answer = client.post("/api/runs")
    assert (answer.status_code, answer.get_json()["error"]["kind"]) == (405, "usage")


def test_a_file_that_is_gone_is_not_found(client: FlaskClient, logdir: Path) -> None:
    client.get("/api/progress", query_string=NEWEST)
    for path in (logdir / "rank2").iterdir():
        path.unlink()
    answer = client.get("/api/progress", query_string=NEWEST)
    assert (answer.status_code, answer.get_json()["error"]["kind"]) == (404, "not_found")


def test_a_log_directory_that_is_gone_says_so(tmp_path: Path) -> None:
    answer = create_app(tmp_path / "gone").test_client().get("/api/runs")
    assert answer.status_code == 422
    assert "gone" in answer.get_json()["error"]["message"]


def test_a_bug_is_logged_and_not_shown(logdir: Path, caplog: pytest.LogCaptureFixture) -> None:
    app = create_app(logdir)
    app.add_url_rule("/bug", view_func=lambda: {}["secret"])
    with caplog.at_level(logging.ERROR):
        answer = app.test_client().get("/bug")
    assert answer.status_code == 500
    assert answer.get_json()["error"]["kind"] == "internal"
    assert "secret" not in answer.text
    assert "KeyError: 'secret'" in caplog.text


def test_no_log_directory_has_no_runs() -> None:
    answer = create_app(None).test_client().get("/api/runs").get_json()
    assert (answer["logdir"], answer["runs"]) == ("", [])


def test_a_single_file_is_a_run_of_its_own(training: Path) -> None:
    client = create_app(training).test_client()
    (run,) = client.get("/api/runs").get_json()["runs"]
    (worker,) = run["workers"]
    assert [trace["file"] for trace in worker["traces"]] == [training.name]
    question = {"run": run["name"], "worker": worker["name"]}
    answer = client.get("/api/report", query_string=question)
    assert answer.get_json()["trace"]["events"] == 220


def test_names_that_are_no_text_can_be_asked_for(tmp_path: Path, training: Path) -> None:
    folder = tmp_path / os.fsdecode(b"vit-\xff")
    folder.mkdir()
    (folder / "host.1.pt.trace.json.gz").write_bytes(training.read_bytes())
    client = create_app(tmp_path).test_client()
    (run,) = client.get("/api/runs").get_json()["runs"]
    answer = client.get("/api/report", query_string={"run": run["name"], "worker": "host"})
    assert answer.status_code == 200, answer.text
