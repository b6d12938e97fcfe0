"""A server that is started anew answers what was asked of another before, without a reading."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from shared_traces import shared_trace

from tb_hookview.cache import Cache
from tb_hookview.loading import analyze
from tb_hookview.loading import cached as kept
from tb_hookview.server import create_app

Written = Callable[[], None]
NAMED = "run=one&worker=w&trace=1"
QUESTIONS = [
    f"/api/report?{NAMED}",
    f"/api/report?{NAMED}&step=ProfilerStep%231",
    "/api/module?run=two&worker=w&trace=1&path=BertModel_0",
    f"/api/timeline?{NAMED}",
    f"/api/compare?{NAMED}&other_run=two&other_worker=w",
]


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    for run, name in (("one", "hta_mi250_minitoy"), ("two", "tracelens_h100_bert_small")):
        (folder / run).mkdir(parents=True)
        shutil.copy(shared_trace(name), folder / run / "w.1.pt.trace.json.gz")
    return folder


@pytest.fixture
def trace(logdir: Path) -> Path:
    return logdir / "one" / "w.1.pt.trace.json.gz"


def fresh(logdir: Path) -> FlaskClient:
    return create_app(logdir).test_client()


@pytest.fixture
def analyses(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What was analyzed, from a file or from columns, one entry for each time."""
    made: list[object] = []
    for name in ("read_anew", "analyze_trace"):
        real = getattr(kept, name)

        def counted(*args: object, real: Callable[..., object] = real) -> object:
            made.append(args)
            return real(*args)

        monkeypatch.setattr(kept, name, counted)
    return made


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_next_server_gives_the_same_answer_without_an_analysis(
    cache: Cache,
    written: Written,
    monkeypatch: pytest.MonkeyPatch,
    logdir: Path,
    analyses: list[object],
    question: str,
) -> None:
    with monkeypatch.context() as context:
        context.setenv("HOOKVIEW_CACHE", "off")
        plain = fresh(logdir).get(question)
    assert plain.status_code == 200
    first = fresh(logdir).get(question)
    written()
    analyses.clear()
    client = fresh(logdir)
    again = client.get(question, headers={"Accept-Encoding": "gzip"})
    assert not analyses
    assert client.get(question).data == plain.data == first.data
    assert first.headers["ETag"] == again.headers["ETag"] == plain.headers["ETag"]
    assert again.headers["Content-Encoding"] == "gzip"


def test_the_answer_is_that_of_the_file_as_it_is_now(
    cache: Cache, written: Written, logdir: Path, trace: Path, analyses: list[object]
) -> None:
    for question in QUESTIONS:
        fresh(logdir).get(question)
    written()
    shutil.copy(shared_trace("tracelens_h100_bert_small"), trace)
    for question in (QUESTIONS[0], QUESTIONS[3], QUESTIONS[4]):
        analyses.clear()
        answer = fresh(logdir).get(question)
        assert answer.status_code == 200
        assert analyses
    trace.unlink()
    assert fresh(logdir).get(QUESTIONS[3]).status_code == 404


def test_an_answer_names_the_file_that_was_asked_about(
    cache: Cache, written: Written, tmp_path: Path, logdir: Path
) -> None:
    other = shutil.copytree(logdir, tmp_path / "other")
    for question in QUESTIONS:
        first = fresh(logdir).get(question).text
        written()
        second = fresh(other).get(question).text
        assert str(other) not in first
        assert second == first.replace(str(logdir), str(other))


def test_errors_are_not_kept(cache: Cache, written: Written, logdir: Path, trace: Path) -> None:
    trace.write_bytes(b"no trace")
    nowhere = QUESTIONS[2].replace("BertModel_0", "none")
    for question in (*QUESTIONS[:2], *QUESTIONS[3:], nowhere):
        assert fresh(logdir).get(question).status_code in (404, 422)
    written()
    assert {path.suffix for path in cache.folder.glob("*")} <= {".columns"}


def test_what_was_analyzed_on_the_command_line_the_server_knows(
    cache: Cache, written: Written, logdir: Path, trace: Path, analyses: list[object]
) -> None:
    report = analyze(trace)
    written()
    analyses.clear()
    assert fresh(logdir).get(QUESTIONS[0]).text == report.to_json()
    assert not analyses


@pytest.mark.parametrize("question", QUESTIONS)
def test_damage_is_no_error(
    cache: Cache, written: Written, logdir: Path, trace: Path, question: str
) -> None:
    first = fresh(logdir).get(question).data
    written()
    for path in cache.folder.iterdir():
        path.write_bytes(path.read_bytes()[:-3])
    assert fresh(logdir).get(question).data == first
