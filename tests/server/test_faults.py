"""Log directories that come, go and refuse, and files that change under the reader's eyes."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grid
import pytest
from flask.testing import FlaskClient
from support.opened import opened
from support.web_api import RECORDED, make_logdir

from tb_hookview.plugin import HookviewPlugin
from tb_hookview.server import create_app
from tb_hookview.trace.source.runs import has_trace

VIT = {"run": "vit", "worker": "rank0"}


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    return make_logdir(tmp_path)


@pytest.fixture
def client(logdir: Path) -> FlaskClient:
    return create_app(logdir).test_client()


def ask(client: FlaskClient, path: str, **query: str) -> tuple[int, Any]:
    answer = client.get(f"/api/{path}", query_string=query)
    return answer.status_code, answer.get_json()


def names(client: FlaskClient) -> list[str]:
    return [run["name"] for run in ask(client, "runs")[1]["runs"]]


def test_a_log_directory_that_vanishes_and_comes_back(client: FlaskClient, logdir: Path) -> None:
    assert ask(client, "report", **VIT)[0] == 200
    away = logdir.rename(logdir.with_name("away"))
    assert has_trace(logdir) is False
    for path, query, status in (
        ("runs", {}, 422),
        ("report", VIT, 422),
        ("report", {**VIT, "trace": "1"}, 404),
        ("progress", VIT, 404),
        ("timeline", VIT, 422),
    ):
        found, answer = ask(client, path, **query)
        assert (found, "\n" in answer["error"]["message"]) == (status, False), path
    away.rename(logdir)
    assert names(client) == ["broken", "deep/mlp", "vit"]
    assert ask(client, "report", **VIT)[0] == 200
    assert has_trace(logdir) is True


def test_a_log_directory_that_becomes_a_file(client: FlaskClient, logdir: Path) -> None:
    shutil.rmtree(logdir)
    shutil.copy(RECORDED, logdir)
    (name,) = names(client)
    assert name == "."


def test_a_bad_trace_spoils_no_other(client: FlaskClient) -> None:
    status, answer = ask(client, "report", run="broken", worker="rank2")
    assert (status, answer["error"]["kind"]) == (422, "trace")
    assert "rank2.3.pt.trace.json" in answer["error"]["message"]
    assert ask(client, "report", **VIT)[0] == 200
    assert ask(client, "timeline", run="deep/mlp", worker="rank1")[0] == 200


def test_a_trace_that_is_replaced_is_told_as_it_is_now(client: FlaskClient, logdir: Path) -> None:
    path = logdir / "vit" / "rank0.1.pt.trace.json.gz"
    other = logdir / "deep/mlp" / "rank1.2.pt.trace.json"
    before = ask(client, "report", **VIT)[1]["trace"]["events"]
    path.with_name("new").write_bytes(gzip.compress(other.read_bytes()))
    path.with_name("new").replace(path)
    for query in (VIT, {**VIT, "trace": "1"}):
        now = ask(client, "report", **query)[1]["trace"]["events"]
        assert now == ask(client, "report", run="deep/mlp", worker="rank1")[1]["trace"]["events"]
        assert now != before


def test_what_is_no_file_is_never_opened(client: FlaskClient, logdir: Path) -> None:
    os.mkfifo(logdir / "vit" / "pipe.9.pt.trace.json")
    (logdir / "vit" / "null.9.pt.trace.json").symlink_to("/dev/zero")
    answer = ask(client, "runs")[1]
    workers = [w["name"] for run in answer["runs"] if run["name"] == "vit" for w in run["workers"]]
    assert workers == ["rank0"]
    assert answer["left_out"] == {"links": 2, "folders": 0}
    for worker in ("pipe", "null"):
        assert ask(client, "report", run="vit", worker=worker, trace="9")[0] == 404


def test_a_trace_that_becomes_a_link_to_elsewhere_is_not_followed(
    client: FlaskClient, logdir: Path
) -> None:
    assert ask(client, "report", **VIT, trace="1")[0] == 200
    path = logdir / "vit" / "rank0.1.pt.trace.json.gz"
    path.unlink()
    path.symlink_to(logdir.parent / "outside" / path.name)
    with opened() as files:
        for query in (VIT, {**VIT, "trace": "1"}):
            assert ask(client, "report", **query)[0] == 404
            assert ask(client, "timeline", **query)[0] == 404
    assert str(path) not in files


REFUSED = """
import json, os, sys
from pathlib import Path
from tb_hookview.server import create_app
from tb_hookview.trace.columns import event_args
def ask(logdir, paths):
    client = create_app(Path(logdir)).test_client()
    answers = [client.get("/api/" + path) for path in paths]
    return [[answer.status_code, answer.get_json()] for answer in answers]
allowed, questions = sys.argv[1], json.loads(sys.argv[2])
for paths in questions.values():
    ask(allowed, paths)  # so that nothing need be imported any more
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
print(json.dumps([ask(logdir, paths) for logdir, paths in questions.items()]))
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may enter; that of pytest is for its user alone."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def asked_without_rights(allowed: Path, questions: dict[str, list[str]]) -> Any:
    """Answers of somebody whom permissions hold back, as they do not the superuser.

    Args:
        allowed: a log directory where all may be read.
        questions: paths below `api` by log directory.
    """
    done = subprocess.run(
        [sys.executable, "-c", REFUSED, str(allowed), json.dumps(questions)],
        capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    return json.loads(done.stdout)


def test_files_and_folders_without_permission(open_folder: Path) -> None:
    some, none, allowed = (make_logdir(open_folder / name) for name in ("some", "none", "all"))
    (some / "vit" / "rank0.1.pt.trace.json.gz").chmod(0)
    (some / "broken").chmod(0)
    none.chmod(0)
    vit, mlp = "report?run=vit&worker=rank0", "report?run=deep/mlp&worker=rank1"
    (runs, refused, read), ((status, answer),) = asked_without_rights(
        allowed, {str(some): ["runs", vit, mlp], str(none): ["runs"]}
    )
    none.chmod(0o755)
    assert [run["name"] for run in runs[1]["runs"]] == ["deep/mlp", "vit"]
    assert runs[1]["left_out"] == {"links": 1, "folders": 1}
    assert refused[0] == 422
    assert "rank0.1.pt.trace.json.gz" in refused[1]["error"]["message"]
    assert "ermission" in refused[1]["error"]["message"]
    assert read[0] == 200
    assert (status, answer["error"]["kind"]) == (422, "trace")
    assert f"{none}: cannot be listed (Permission denied)" in answer["error"]["message"]


def test_five_hundred_runs_are_listed_and_none_is_opened(tmp_path: Path) -> None:
    for number in range(500):
        run = tmp_path / f"group{number % 7}" / f"run{number}"
        run.mkdir(parents=True)
        for worker in range(2):
            (run / f"rank{worker}.{number}.pt.trace.json.gz").write_bytes(b"not even a trace")
    client = create_app(tmp_path).test_client()
    client.get("/api/rules")  # whatever is imported or opened with the first question
    with opened() as files:
        answer = ask(client, "runs")[1]
        assert has_trace(tmp_path)
    assert files == []
    assert len(answer["runs"]) == 500
    assert sum(len(worker["traces"]) for run in answer["runs"] for worker in run["workers"]) == 1000


def test_the_plugin_says_no_where_the_log_directory_goes_away(tmp_path: Path) -> None:
    from tensorboard.plugins.base_plugin import TBContext

    logdir, now = make_logdir(tmp_path), [0.0]
    made = HookviewPlugin(TBContext(logdir=str(logdir)), clock=lambda: now[0])
    assert made.is_active() is True
    shutil.rmtree(logdir)
    now[0] += 3600
    assert made.is_active() is False


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc: run it on Linux")
def test_files_read_for_single_events_are_not_kept_open(tmp_path: Path) -> None:
    event = {
        "ph": "X",
        "cat": "cpu_op",
        "name": "mm",
        "pid": 1,
        "tid": 1,
        "dur": 1,
        "args": {"a": 7},
    }
    source = grid.write(tmp_path / "large", [event | {"ts": 10 * n} for n in range(20_000)])
    for number in range(3):
        (tmp_path / f"run{number}").mkdir()
        (tmp_path / f"run{number}" / "rank0.1.pt.trace.json").hardlink_to(source)
    client = create_app(tmp_path).test_client()

    def arguments(number: int) -> object:
        status, told = ask(
            client, "timeline/event", run=f"run{number}", worker="rank0", trace="1", id="100"
        )
        assert status == 200
        return told["args"]

    first = [arguments(number) for number in range(3)]
    kept = [fd for fd in Path("/proc/self/fd").iterdir() if str(tmp_path) in os.path.realpath(fd)]
    assert not kept
    assert first[0] == {"a": "7"}
    assert [arguments(number) for number in range(3)] == first == 3 * first[:1]
