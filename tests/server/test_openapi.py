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
from shared_traces import shared_trace
from support.web_api import make_app, make_logdir

from tb_hookview.server import create_app
from tb_hookview.server.openapi import build

validation = pytest.importorskip("jsonschema_rs", reason="needs schemathesis: make setup")
DESCRIPTION = build()
RECORDED = ("compiled.compiled", "late_rank.late")
SHARED = (
    "hta_cpu_only",
    "hta_mi250_minitoy_training",
    "hta_sampled_rank-0",
    "shift_equivariant_vit",
    "tracelens_h100_bert_small",
    "tracelens_mi300_compile_triton",
    "tracelens_mi300_vllm_graph_execution",
    pytest.param("kineto_2021_resnet50_autograd_api", marks=pytest.mark.slow),
    pytest.param("tracelens_mi300_resnet_checkpointing_ddp", marks=pytest.mark.slow),
)
"""With and without device, operators, steps, modules, memory, collectives, compiled code."""
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


@pytest.mark.parametrize("name", RECORDED)
def test_answers_about_our_recordings_are_as_described(name: str) -> None:
    check_answers(min((gallery.FOLDER / name).glob("*.gz")))


@pytest.mark.parametrize("name", SHARED)
def test_answers_about_real_traces_are_as_described(name: str) -> None:
    check_answers(shared_trace(name))


def check_answers(trace: Path) -> None:
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
    known, _ = schemas["WindowStatistics"]["properties"]["sync_blocked_us"]["anyOf"]
    assert known["x-unit"] == "us"
    assert schemas["TopEntry"]["properties"]["measure"]["enum"] == ["device", "host"]
