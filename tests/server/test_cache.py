"""Answers that are given again: what makes them the same, and what they cost."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from shared_traces import shared_trace
from support.opened import opened

from tb_hookview.report import build
from tb_hookview.server import create_app
from tb_hookview.server.answers import RunList
from tb_hookview.trace import TraceEntry

REPORT = "/api/report?run=rank2&worker=host_1&trace=1700000000456"
GZIP = {"Accept-Encoding": "gzip"}


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The reports that were made, one entry for each."""
    made: list[object] = []
    real = build.build_data

    def counted(*args: object, **kwargs: object) -> object:
        made.append(args)
        return real(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(build, "build_data", counted)
    return made


def test_a_report_is_made_once_and_given_in_every_form(
    client: FlaskClient, built: list[object]
) -> None:
    first = client.get(REPORT, headers=GZIP)
    again = client.get(REPORT, headers=GZIP)
    plain = client.get(REPORT)
    assert len(built) == 1
    assert (again.data, again.headers["ETag"]) == (first.data, first.headers["ETag"])
    assert again.headers["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in plain.headers
    assert plain.get_json()["schema"] == 1
    for answer in (first, again, plain):
        assert answer.mimetype == "application/json"
        assert "Accept-Encoding" in answer.vary
        assert answer.headers["Cache-Control"] == "no-cache"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_who_has_the_answer_is_told_so_without_a_reading(logdir: Path, newest: Path) -> None:
    tag = create_app(logdir).test_client().get(REPORT).headers["ETag"]
    another = create_app(logdir).test_client()
    with opened() as paths:
        answer = another.get(REPORT, headers={"If-None-Match": tag})
    assert (answer.status_code, answer.data, answer.headers["ETag"]) == (304, b"", tag)
    assert str(newest) not in paths


def test_a_file_put_in_place_with_its_old_time_is_another(logdir: Path, newest: Path) -> None:
    tag = create_app(logdir).test_client().get(REPORT).headers["ETag"]
    state = newest.stat()
    newest.write_bytes(b"x" * state.st_size)
    os.utime(newest, ns=(state.st_atime_ns, state.st_mtime_ns))
    another = create_app(logdir).test_client()
    assert another.get(REPORT, headers={"If-None-Match": tag}).status_code == 422


def test_another_file_or_question_is_another_answer(client: FlaskClient, newest: Path) -> None:
    tags = [
        client.get(REPORT + more).headers["ETag"]
        for more in ("", "&step=ProfilerStep%231", "&step=ProfilerStep%231&step=ProfilerStep%232")
    ]
    shutil.copy(shared_trace("hta_cpu_only.json.gz"), newest)
    answer = client.get(REPORT, headers={"If-None-Match": tags[0]})
    assert answer.status_code == 200
    assert answer.get_json()["trace"]["devices"] == []
    assert len({*tags, answer.headers["ETag"]}) == 4


def test_the_newest_trace_is_the_newest_now(client: FlaskClient, newest: Path) -> None:
    question = "/api/report?run=rank2&worker=host_1"
    before = client.get(question)
    newest.unlink()
    after = client.get(question, headers={"If-None-Match": before.headers["ETag"]})
    assert after.status_code == 200
    assert after.get_json()["trace"]["path"] != before.get_json()["trace"]["path"]


@pytest.mark.parametrize(
    "url", ["/api/runs", "/api/progress?run=rank2&worker=host_1", "/api/report?run=rank3&worker=x"]
)
def test_what_may_change_by_itself_bears_no_tag(client: FlaskClient, url: str) -> None:
    assert "ETag" not in client.get(url).headers


def test_tag_and_answer_are_of_the_same_trace(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A newer trace that is written meanwhile is another answer, and not that of the tag."""
    question, chosen = "/api/report?run=rank2&worker=host_1", []
    real = RunList.choose

    def counted(*args: object) -> TraceEntry:
        chosen.append(real(*args))  # type: ignore[arg-type]
        return chosen[-1]

    monkeypatch.setattr(RunList, "choose", counted)
    assert client.get(question).status_code == 200
    assert len(chosen) == 1
