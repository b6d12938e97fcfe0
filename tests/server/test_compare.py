"""The route api/compare: what it answers, and for which two traces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from flask.testing import FlaskClient

import tb_hookview
from tb_hookview.comparison.compare import compare

SIDES = {"run": "rank2", "worker": "host_1", "other_run": "rank10", "other_worker": "host_2"}


def test_the_answer_is_the_comparison_of_the_reports(
    client: FlaskClient, logdir: Path, newest: Path
) -> None:
    answer = client.get("/api/compare", query_string=SIDES).get_json()
    (other,) = (logdir / "rank10").iterdir()
    reports = [tb_hookview.analyze(path).counted.data for path in (newest, other)]
    assert answer["comparison"] == json.loads(msgspec.json.encode(compare(*reports)))
    names = ["ProfilerStep#1", "ProfilerStep#2"]
    assert (answer["base_steps"], answer["other_steps"]) == (names, names)


def test_each_side_has_a_trace_and_steps_of_its_own(client: FlaskClient) -> None:
    def sides(**more: Any) -> list[Any]:
        answer = client.get("/api/compare", query_string={**SIDES, **more}).get_json()
        comparison = answer["comparison"]
        return [comparison[side]["step_names"] for side in ("base", "other")]

    first, second = "ProfilerStep#1", "ProfilerStep#2"
    assert sides(step=first, other_step=second) == [[first], [second]]
    # Nothing is launched in the second, so that it does not count unless it is named.
    assert sides(step=[first, second]) == [[first, second], [first]]
    assert sides(trace="1700000000123")[0] == ["ProfilerStep#551"]
    older = {"other_run": "rank2", "other_worker": "host_1", "other_trace": "1700000000123"}
    assert sides(**older) == [[first], ["ProfilerStep#551"]]


@pytest.mark.parametrize(
    ("change", "status", "says"),
    [
        ({"other_run": ""}, 400, "other_run="),
        ({"other_worker": ""}, 400, "other_worker="),
        ({"run": ""}, 400, "run="),
        ({"other_run": "gone"}, 404, "gone"),
        ({"other_step": "ProfilerStep#9"}, 404, "#9"),
    ],
)
def test_a_bad_question_is_answered_with_its_reason(
    client: FlaskClient, change: dict[str, str], status: int, says: str
) -> None:
    answer = client.get("/api/compare", query_string={**SIDES, **change})
    assert answer.status_code == status
    assert says in answer.get_json()["error"]["message"]
