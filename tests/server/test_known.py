"""What the list of runs says of traces without reading them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from support.caching import cache, folder, written

from tb_hookview import analyze
from tb_hookview.cache import Cache
from tb_hookview.server import create_app

__all__ = ["cache", "folder", "written"]
KNOWN = "/api/runs/known"


def test_a_trace_is_known_once_its_report_is_cached(
    cache: Cache, written: object, logdir: Path, newest: Path
) -> None:
    client = create_app(logdir).test_client()
    assert client.get(KNOWN).get_json() == []
    report = analyze(newest)
    written()  # type: ignore[operator]
    (known,) = client.get(KNOWN).get_json()
    verdict = report.verdict
    assert known == {
        "run": "rank2",
        "worker": "host_1",
        "step_us": report.data.per_step.duration_us,
        "devices": ["AMD Radeon Graphics"],
        "bound": verdict.bound,
        "sentence": verdict.sentence,
    }
    os.utime(newest, (1, 1))
    assert create_app(logdir).test_client().get(KNOWN).get_json() == []
    assert analyze(newest).verdict == verdict  # of the same content: from the cache
    written()  # type: ignore[operator]
    assert create_app(logdir).test_client().get(KNOWN).get_json() == [known]


def test_the_list_reads_no_trace(
    logdir: Path, client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even their bytes: hundreds of them are looked up at a time."""

    def refused(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("tb_hookview.trace.source.file.LocalFile.open", refused)
    assert client.get(KNOWN).get_json() == []
