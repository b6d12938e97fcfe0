"""The route api/whatif: what it answers, and for which changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import grid
import msgspec
import pytest
from flask.testing import FlaskClient

import tb_hookview
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.dependencies.build import build
from tb_hookview.analysis.dependencies.graph import Graph
from tb_hookview.analysis.dependencies.points import Window
from tb_hookview.analysis.selection import select
from tb_hookview.loading import load
from tb_hookview.report.whatif import WhatIfs
from tb_hookview.server import create_app
from tb_hookview.simulation import simulator

# The second step takes half of the first.
PICTURE = """
    main notes   [ProfilerStep#1                 ][ProfilerStep#2  ]
    main ops     [mm                            ] [mm            ]
    main calls   [launch corr=1]                  [launch corr=2]
    gpu  kernel        [gemm corr=1]                     [gemm corr=2]
"""
NAMES = {"launch": "cudaLaunchKernel"}
FIRST, SECOND = "ProfilerStep#1", "ProfilerStep#2"


@pytest.fixture
def drawn(tmp_path: Path) -> Path:
    return grid.write(tmp_path / "t.json", grid.events(PICTURE, NAMES))


@pytest.fixture
def two_steps(drawn: Path) -> FlaskClient:
    return create_app(drawn).test_client()


def first_trace(client: FlaskClient) -> dict[str, str]:
    (run, *_) = client.get("/api/runs").get_json()["runs"]
    return {"run": run["name"], "worker": run["workers"][0]["name"]}


def ask(client: FlaskClient, status: int = 200, **more: Any) -> Any:
    """Answer to a question about the first trace; of an error its kind and message."""
    answer = client.get("/api/whatif", query_string={**first_trace(client), **more})
    assert answer.status_code == status, answer.text
    return answer.get_json() if status == 200 else answer.get_json()["error"]


def test_the_answer_is_what_python_says(client: FlaskClient, newest: Path) -> None:
    (finding, *_) = tb_hookview.analyze(newest).findings
    asked = WhatIfs(select(load(newest), None))
    expected = asked.answer([finding.id], {"host": 0.5, "kernels": 2})
    asked = ask(client, without=finding.id, scale=["host=0.5", "kernels=2"])
    assert asked == json.loads(msgspec.json.encode(expected))
    assert asked["predicted_us"] < asked["replayed_us"]


def test_nothing_changed_is_the_recorded_step(two_steps: FlaskClient) -> None:
    answer = ask(two_steps)
    assert answer["refused"] is None
    assert answer["predicted_us"] == answer["replayed_us"]
    assert answer["critical_path"] == answer["replayed_path"]


def test_factors_are_those_of_what_they_name(two_steps: FlaskClient) -> None:
    # The second step counts, the first warms up; it takes 18 us on the host.
    twice = ask(two_steps, scale="host=2")
    assert (twice["predicted_us"], twice["critical_path"]["host"]) == (36.0, 36.0)
    assert ask(two_steps, scale=["host=2", "kernel:gemm=1"]) == twice


def test_steps_narrow_the_question(two_steps: FlaskClient) -> None:
    both, first, second = (
        ask(two_steps, step=steps) for steps in ([FIRST, SECOND], [FIRST], [SECOND])
    )
    assert [answer["steps"] for answer in (both, first, second)] == [2, 1, 1]
    assert first["step_us"] > both["step_us"] > second["step_us"]


def test_a_graph_is_built_once_a_choice_of_steps(
    two_steps: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    built, named = [], first_trace(two_steps)

    def counted(analysis: Analysis, window: Window) -> Graph:
        built.append(window.steps)
        return build(analysis, window)

    monkeypatch.setattr(simulator, "build", counted)
    for steps in ([FIRST], [SECOND], [FIRST], ["1"]):
        for factor in ("0.5", "2"):
            ask(two_steps, step=steps, scale=f"host={factor}")
        for table in ("critical_path", "critical_path_modules"):
            answer = two_steps.get(f"/api/table/{table}", query_string={**named, "step": steps})
            assert answer.get_json()["total"] > 0
    assert built == [(0,), (1,)]


@pytest.mark.parametrize(
    ("asked", "status", "says"),
    [
        ({"without": "no-such-rule"}, 404, "no-such-rule"),
        ({"scale": "module:gone=0"}, 404, "gone"),
        ({"scale": "kernel:gone=0"}, 404, "gone"),
        ({"scale": "kind:gone=0"}, 404, "gone"),
        ({"step": "ProfilerStep#9"}, 404, "#9"),
        ({"scale": "host=-1"}, 400, "0 or more"),
        ({"scale": "host=nan"}, 400, "0 or more"),
        ({"scale": "host=inf"}, 400, "1,000"),
        ({"scale": ["host=100", "kernels=100"]}, 400, "1,000"),
        ({"scale": "host=fast"}, 400, "not a number"),
        ({"scale": "host"}, 400, "WHAT=FACTOR"),
        ({"scale": ["host=1", "host=2"]}, 400, "twice"),
        ({"scale": "batch=2"}, 400, "batch"),
        ({"scale": "syncs=0.5"}, 400, "syncs"),
    ],
)
def test_a_bad_question_is_answered_with_its_reason(
    two_steps: FlaskClient, asked: dict[str, Any], status: int, says: str
) -> None:
    error = ask(two_steps, status, **asked)
    assert error["kind"] == ("not_found" if status == 404 else "usage")
    assert says in error["message"]
    assert "\n" not in error["message"]


def test_a_trace_without_launches_is_refused_with_the_reason(tmp_path: Path) -> None:
    picture = """
        main notes  [ProfilerStep#1    ]
        main calls  [launch]
        gpu  kernel      [gemm       ]
    """
    path = grid.write(tmp_path / "t.json", grid.events(picture, NAMES))
    answer = ask(create_app(path).test_client(), scale="host=0.5")
    assert "launches of 0%" in answer["refused"]
    assert answer["predicted_us"] is None
    assert answer["launches_known"] == 0
