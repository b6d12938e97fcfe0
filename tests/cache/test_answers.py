"""A server that is started again answers from the columns and reports of another before it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from shared_traces import shared_trace

from tb_hookview.cache import Cache
from tb_hookview.loading import analyze
from tb_hookview.server import create_app
from tb_hookview.trace import reader

Written = Callable[[], None]
NAMED = "run=one&worker=w&trace=1"
REPORTS = [f"/api/report?{NAMED}", f"/api/report?{NAMED}&step=ProfilerStep%231"]
OTHERS = [
    "/api/module?run=one&worker=w&trace=1&path=BertModel_0",
    f"/api/timeline?{NAMED}",
    f"/api/compare?{NAMED}&other_run=two&other_worker=w",
]


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    for run, name in (("one", "tracelens_h100_bert_small"), ("two", "hta_mi250_minitoy")):
        (folder / run).mkdir(parents=True)
        shutil.copy(shared_trace(name), folder / run / "w.1.pt.trace.json.gz")
    return folder


@pytest.fixture
def trace(logdir: Path) -> Path:
    return logdir / "one" / "w.1.pt.trace.json.gz"


def fresh(logdir: Path) -> FlaskClient:
    return create_app(logdir).test_client()


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The traces that were read, one entry for each time."""
    made: list[str] = []
    real = reader.read_trace

    def counted(file: object, *args: object, **more: object) -> object:
        made.append(file.path.parent.name)  # type: ignore[attr-defined]
        return real(file, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(reader, "read_trace", counted)
    return made


@pytest.mark.parametrize("question", [*REPORTS, *OTHERS])
def test_the_next_server_gives_the_same_answer_without_reading_a_large_trace(
    cache: Cache,
    written: Written,
    monkeypatch: pytest.MonkeyPatch,
    logdir: Path,
    readings: list[str],
    question: str,
) -> None:
    with monkeypatch.context() as context:
        context.setenv("HOOKVIEW_CACHE", "off")
        plain = fresh(logdir).get(question)
    first = fresh(logdir).get(question)
    written()
    readings.clear()
    again = fresh(logdir).get(question)
    assert "one" not in readings
    assert (plain.status_code, plain.data) == (first.status_code, first.data)
    assert (again.status_code, again.data) == (first.status_code, first.data)
    assert first.headers.get("ETag") == again.headers.get("ETag")


def test_the_answer_is_that_of_the_file_as_it_is_now(
    cache: Cache, written: Written, logdir: Path, trace: Path, readings: list[str]
) -> None:
    for question in (REPORTS[0], *OTHERS):
        fresh(logdir).get(question)
    written()
    shutil.copy(shared_trace("hta_cpu_only"), trace)
    for question in (REPORTS[0], OTHERS[1]):
        answer = fresh(logdir).get(question)
        assert answer.status_code == 200
    assert "one" in readings
    trace.unlink()
    assert fresh(logdir).get(OTHERS[1]).status_code == 404


def test_errors_are_not_cached(cache: Cache, written: Written, logdir: Path, trace: Path) -> None:
    trace.write_bytes(b"no trace")
    for question in (*REPORTS, *OTHERS):
        assert fresh(logdir).get(question).status_code in (404, 422)
    written()
    assert not list(cache.folder.glob("*"))


def test_what_was_analyzed_on_the_command_line_the_server_knows(
    cache: Cache, written: Written, logdir: Path, trace: Path, readings: list[str]
) -> None:
    report = analyze(trace)
    written()
    readings.clear()
    assert fresh(logdir).get(REPORTS[0]).text == report.to_json()
    assert not readings
