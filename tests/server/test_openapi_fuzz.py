"""Whatever is asked: no fault of ours, an answer as described, and no file but those served.

`HOOKVIEW_FUZZ_EXAMPLES` says how many questions there are a route.
"""

from __future__ import annotations

import mimetypes
import os
import sys
import sysconfig
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.opened import opened
from support.web_api import make_app, make_logdir

from tb_hookview.server.openapi import build

schemathesis = pytest.importorskip("schemathesis", reason="needs schemathesis: make setup")
checks = pytest.importorskip(
    "schemathesis.specs.openapi.checks",
    reason="needs schemathesis: make setup",
)
pytestmark = pytest.mark.usefixtures("ranks_on_threads")
EXAMPLES = int(os.environ.get("HOOKVIEW_FUZZ_EXAMPLES", "4"))
EXCLUDED = [checks.positive_data_acceptance]
"""A question of the right form may still be none: a window that ends before it starts."""
PATHS = build()["paths"]
mimetypes.init()  # it reads files of the system on its first use
OURS = Path(__file__).parents[2] / "tb_hookview"
MACHINE = {Path("/proc/meminfo"), Path("/sys/fs/cgroup/memory.max"), Path("/dev/null")}
"""Read for the memory that processes may take, and what they are started with."""
UNNAMED = Path(tempfile.gettempdir())
"""Opened itself for a temporary file without a name."""
PROGRAM = [sys.prefix, sys.base_prefix, sysconfig.get_path("stdlib"), str(OURS)]


def case_has_query(path: str) -> bool:
    """Whether the route is asked with parameters."""
    return any(parameter["in"] == "query" for parameter in PATHS[path]["get"]["parameters"])


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_logdir(tmp_path_factory.mktemp("web"))


@pytest.fixture(scope="module")
def app(logdir: Path) -> Flask:
    return make_app(logdir)


@pytest.fixture(scope="module")
def api(app: Flask) -> Mapping[str, Any]:
    described: Mapping[str, Any] = schemathesis.openapi.from_wsgi("/openapi.json", app)
    return described


REAL = [
    {"run": "vit", "worker": "rank0", "trace": "1"},
    {"run": "deep/mlp", "worker": "rank1", "trace": "2"},
    {"run": "broken", "worker": "rank2", "trace": "3"},
    {"run": "vit", "worker": "linked", "trace": "4"},
]
"""The last one lies outside the log directory, and so is none that may be found."""


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
def test_any_question_is_answered_as_described(
    api: Mapping[str, Any], logdir: Path, path: str
) -> None:
    operation = api[path]["GET"]

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy(), real=st.sampled_from([*REAL[:2], *REAL, {}]))
    def ask(case: Any, real: Mapping[str, str]) -> None:
        for name in case.query or {}:
            # Few guesses name a trace that is there; only then is the rest looked at.
            case.query[name] = real.get(name.removeprefix("other_"), case.query[name])
        answer(case, logdir)

    ask()


@pytest.mark.parametrize("path", [*filter(case_has_query, PATHS)])
def test_a_question_that_is_none_is_refused(
    api: Mapping[str, Any], logdir: Path, path: str
) -> None:
    operation = api[path]["GET"]

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    @given(operation.as_strategy(generation_mode=schemathesis.GenerationMode.NEGATIVE))
    def ask(case: Any) -> None:
        answer(case, logdir)

    ask()


def answer(case: Any, logdir: Path) -> None:
    """Ask, hold the answer against the description, and the files opened against those served."""
    with opened() as files:
        found = case.call(headers={"Accept-Encoding": "identity"})
    case.validate_response(found, excluded_checks=EXCLUDED)
    strays = [file for file in files if not served(file, logdir)]
    assert not strays, strays


def served(file: str, logdir: Path) -> bool:
    """Whether a file is a trace of the log directory, of the program, or describes the machine."""
    path = Path(file)
    if path in MACHINE or path == UNNAMED:
        return True
    if path.is_relative_to(logdir):
        return path.resolve().is_relative_to(logdir.resolve())
    return any(path.is_relative_to(own) for own in PROGRAM)
