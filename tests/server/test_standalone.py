"""The server of `hookview serve`, over a real connection."""

from __future__ import annotations

import http.client
import json
import shutil
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from flask.testing import FlaskClient

from tb_hookview import TraceError, UsageError
from tb_hookview.server import Server


def ask(server: Server, path: str, host: str | None = None) -> tuple[int, bytes]:
    """Send a request as it is written: no part of the path is tidied up on the way."""
    address = urlsplit(server.url).netloc
    connection = http.client.HTTPConnection(address, timeout=300)
    connection.putrequest("GET", path, skip_host=host is not None)
    if host:
        connection.putheader("Host", host)
    connection.endheaders()
    answer = connection.getresponse()
    return answer.status, answer.read()


def test_it_answers_on_this_machine_only(server: Server) -> None:
    assert urlsplit(server.url).hostname == "127.0.0.1"
    status, body = ask(server, "/api/runs")
    assert (status, len(json.loads(body)["runs"])) == (200, 2)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200),
        ("127.0.0.1:6006", 200),
        ("localhost", 200),
        ("LOCALHOST:80", 200),
        ("[::1]", 200),
        ("[::1]:6006", 200),
        ("evil.example", 400),
        ("evil.example:6006", 400),
        ("localhost.evil.example", 400),
        ("127.0.0.1.evil.example", 400),
        ("[::2]", 400),
        ("0.0.0.0", 400),
        ("", 400),
    ],
)
def test_a_request_under_another_name_is_refused(server: Server, host: str, status: int) -> None:
    for path in ("/api/runs", "/index.html"):
        assert ask(server, path, host)[0] == status


def test_requests_at_once_get_the_same_report(server: Server) -> None:
    path = "/api/report?run=rank2&worker=host_1"
    with ThreadPoolExecutor(6) as pool:
        found = set(pool.map(lambda _: ask(server, path), range(6)))
    ((status, body),) = found
    assert status == 200
    assert json.loads(body)["trace"]["events"] == 220


@pytest.mark.parametrize(
    "path",
    [
        "/../../../etc/passwd",
        "/assets/../../../../etc/passwd",
        "/assets/%2e%2e/%2e%2e/plugin.py",
        "//etc/passwd",
        "/%00",
    ],
)
def test_a_path_as_written_reaches_no_other_file(server: Server, path: str) -> None:
    assert ask(server, path)[0] == 404


OUTSIDE = ["..", "../outside", "../../etc", "/etc", ".", "rank2/..", "rank2/", "\0", "x" * 5000]


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_name_in_a_query_is_never_a_path(client: FlaskClient, newest: Path, name: str) -> None:
    outside = newest.parents[2] / "outside"
    outside.mkdir()
    shutil.copy(newest, outside)
    for question in (
        {"run": name, "worker": "host_1"},
        {"run": "rank2", "worker": name},
        {"run": "rank2", "worker": f"{name}/host_1"},
        {"run": "rank2", "worker": "host_1", "trace": name},
        {"run": "rank2", "worker": "host_1", "trace": f"{name}/{newest.name}"},
    ):
        for route in ("report", "progress"):
            answer = client.get(f"/api/{route}", query_string=question)
            assert answer.status_code == 404, quote(name)


def test_links_out_of_the_log_directory_are_not_followed(
    client: FlaskClient, logdir: Path, newest: Path
) -> None:
    outside = logdir.parent / "outside"
    outside.mkdir()
    shutil.copy(newest, outside)
    (logdir / "folder").symlink_to(outside, target_is_directory=True)
    (logdir / "file").mkdir()
    (logdir / "file" / newest.name).symlink_to(outside / newest.name)
    runs = [run["name"] for run in client.get("/api/runs").get_json()["runs"]]
    assert runs == ["rank2", "rank10"]
    for run in ("folder", "file"):
        answer = client.get("/api/report", query_string={"run": run, "worker": "host_1"})
        assert answer.status_code == 404


def test_a_port_in_use_is_an_error_of_the_call(logdir: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port} cannot be used"):
            Server(logdir, port=port)


def test_a_path_that_is_not_there_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="no such file or folder"):
        Server(tmp_path / "nothing")
