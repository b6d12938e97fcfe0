"""The OpenAPI description: it is what the program says of itself, and what it answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import gallery
import pytest
from flask.testing import FlaskClient
from support.web_api import make_app, make_logdir

from tb_hookview.server import create_app
from tb_hookview.server.openapi import build

validation = pytest.importorskip("jsonschema_rs", reason="comes with schemathesis")
DESCRIPTION = build()
WRITTEN = Path(__file__).parents[2] / "docs" / "openapi.json"


def test_the_file_in_the_documentation_is_up_to_date() -> None:
    assert json.loads(WRITTEN.read_text()) == json.loads(json.dumps(DESCRIPTION)), (
        "run: make schema"
    )


def test_every_route_is_described_and_nothing_else() -> None:
    rules = create_app(None).url_map.iter_rules()
    served = {re.sub(r"<(?:path:)?(\w+)>", r"{\1}", rule.rule) for rule in rules}
    assert served == set(DESCRIPTION["paths"])


def check(client: FlaskClient, path: str, query: Mapping[str, Any], status: int = 200) -> Any:
    """Ask, and hold the answer against the description."""
    answer = client.get(path, query_string=query)
    assert answer.status_code == status, answer.text
    validator(path, str(status)).validate(answer.get_json())
    return answer.get_json()


@cache
def validator(path: str, status: str) -> Any:
    described = DESCRIPTION["paths"][path]["get"]["responses"][status]
    schema = described["content"]["application/json"]["schema"]
    return validation.validator_for({**schema, "components": DESCRIPTION["components"]})


def questions(report: Any, timeline: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """One of each sort that a trace can answer."""
    whole = {"start": -1, "end": timeline["duration_us"] + 1}
    paths = [module["path"] for module in report["modules"]][:20]
    for path in paths[:3]:
        yield "/api/module", {"path": path}
    if paths:
        yield "/api/module/bars", {"path": paths, "measure": "backward_host_us"}
    yield "/api/module/search", {"q": "a"}
    yield "/api/whatif", {"scale": ["host=0.5", "syncs=0"]}
    yield "/api/whatif", {"without": [finding["id"] for finding in report["findings"]]}
    yield "/api/timeline/window", {**whole, "width": 800}
    yield "/api/timeline/search", {"q": "a"}
    yield "/api/timeline/statistics", whole


QUICK = gallery.kinds_of_traces(150_000)


def param(path: Path) -> object:
    marks = [] if path in QUICK else [pytest.mark.slow]
    return pytest.param(path, id=gallery.label(path), marks=marks)


@pytest.mark.parametrize("trace", [param(path) for path in gallery.small_traces()[::4]])
def test_answers_about_real_traces_are_as_described(trace: Path) -> None:
    client = create_app(trace).test_client()
    (run,) = check(client, "/api/runs", {})["runs"]
    named = {"run": run["name"], "worker": run["workers"][0]["name"]}
    report = check(client, "/api/report", named)
    timeline = check(client, "/api/timeline", named)
    for path, query in questions(report, timeline):
        check(client, path, {**named, **query})
    window = {"start": 0, "end": max(timeline["duration_us"], 1), "width": 50}
    drawn = check(client, "/api/timeline/window", {**named, **window})
    for lane in drawn["lanes"]:
        for event in [event for event in lane["event"] if event >= 0][:5]:
            check(client, "/api/timeline/event", {**named, "id": event})
    check(client, "/api/progress", named)
    others = {f"other_{name}": value for name, value in named.items()}
    check(client, "/api/compare", {**named, **others})
    check(client, "/api/rules", {})


def test_errors_are_as_described(tmp_path: Path) -> None:
    client = make_app(make_logdir(tmp_path)).test_client()
    for path, operations in DESCRIPTION["paths"].items():
        if any(parameter["in"] == "query" for parameter in operations["get"]["parameters"]):
            check(client, path, {}, 400)
    check(client, "/api/report", {"run": "none", "worker": "none"}, 404)
    check(client, "/api/report", {"run": "broken", "worker": "rank2"}, 422)


def test_what_a_window_leaves_out_is_described() -> None:
    schemas = DESCRIPTION["components"]["schemas"]
    assert schemas["WindowStatistics"]["properties"]["omitted"]["description"]
    assert schemas["WindowStatistics"]["properties"]["sync_blocked_us"]["x-unit"] == "us"
    assert schemas["TopEntry"]["properties"]["measure"]["enum"] == ["device", "host"]
