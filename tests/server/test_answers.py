"""What every answer has in common: headers and compression."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tb_hookview.server import answers
from tb_hookview.server.app import install_page

REPORT = "/api/report?run=rank2&worker=host_1"


@pytest.fixture
def client(read_once: FlaskClient) -> FlaskClient:
    return read_once


@pytest.mark.parametrize(
    ("accepts", "compressed"),
    [
        (None, False),
        ("", False),
        ("identity", False),
        ("br, deflate", False),
        ("gzip;q=0", False),
        ("gzip", True),
        ("br;q=1.0, gzip;q=0.5", True),
        ("*", True),
    ],
)
def test_compressed_only_where_the_client_accepts_it(
    client: FlaskClient, accepts: str | None, compressed: bool
) -> None:
    plain = client.get(REPORT).data
    headers = {} if accepts is None else {"Accept-Encoding": accepts}
    answer = client.get(REPORT, headers=headers)
    assert answer.headers.get("Content-Encoding") == ("gzip" if compressed else None)
    assert (gzip.decompress(answer.data) if compressed else answer.data) == plain
    assert answer.content_length == len(answer.data)
    assert "Accept-Encoding" in answer.vary


def test_a_small_answer_is_left_as_it_is(client: FlaskClient) -> None:
    answer = client.get("/api/runs", headers={"Accept-Encoding": "gzip"})
    assert answer.content_length is not None
    assert answer.content_length < answers.SMALLEST_COMPRESSED
    assert "Content-Encoding" not in answer.headers


@pytest.mark.parametrize("url", ["/", "/index.html", "/index.js", "/api/runs", "/nothing", REPORT])
def test_no_type_is_guessed(client: FlaskClient, url: str) -> None:
    assert client.get(url).headers.getlist("X-Content-Type-Options") == ["nosniff"]


def test_the_page_runs_no_script_but_ours(client: FlaskClient) -> None:
    policy = client.get("/index.html").headers["Content-Security-Policy"]
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert directives["default-src"] == "'self'"
    assert directives.get("script-src", "'self'") == "'self'"
    assert "*" not in policy


@pytest.fixture
def page_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "static"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>page</title>")
    (folder / "index.js").write_text("export function render() {}" + " " * 2000)
    (folder / "assets" / "view-1a2b.js").write_text("export const view = 1;")
    (tmp_path / "secret.txt").write_text("secret")
    return folder


def page_client(folder: Path) -> FlaskClient:
    app = Flask("page", static_folder=None)
    answers.install(app, None)
    install_page(app, folder)
    return app.test_client()


def test_the_files_of_the_page(page_folder: Path) -> None:
    client = page_client(page_folder)
    assert client.get("/").data == client.get("/index.html").data
    assert client.get("/index.html").mimetype == "text/html"
    assert client.get("/index.js").mimetype == "text/javascript"
    assert client.get("/assets/view-1a2b.js").text == "export const view = 1;"


def test_files_are_compressed_and_revalidated(page_folder: Path) -> None:
    client = page_client(page_folder)
    answer = client.get("/index.js", headers={"Accept-Encoding": "gzip"})
    assert gzip.decompress(answer.data) == (page_folder / "index.js").read_bytes()
    assert answer.headers["Cache-Control"] == "no-cache"
    again = client.get("/index.js", headers={"If-None-Match": answer.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")


def test_a_page_that_is_not_built_says_how_to_build_it(tmp_path: Path) -> None:
    client = page_client(tmp_path)
    for url in ("/", "/index.html", "/index.js"):
        answer = client.get(url)
        assert answer.status_code == 200
        assert "make frontend" in answer.text
    assert "export function render()" in client.get("/index.js").text


HOSTILE = [
    "/assets/../secret.txt",
    "/assets/../../secret.txt",
    "/assets/%2e%2e/%2e%2e/secret.txt",
    "/assets/..%2f..%2fsecret.txt",
    "/assets/..%5c..%5csecret.txt",
    "/assets/%252e%252e/%252e%252e/secret.txt",
    "/assets//etc/passwd",
    "/assets/%2fetc%2fpasswd",
    "/assets/%00",
    "/assets/view-1a2b.js%00.txt",
    "/assets/" + "a" * 5000,
    "/assets/" + "a/" * 2000,
    "/assets/",
    "/assets/.",
    "/assets/%ff%fe",
    "/../secret.txt",
    "/secret.txt",
    "/index.js/",
]


@pytest.mark.parametrize("url", HOSTILE)
def test_nothing_but_the_page_is_served(page_folder: Path, url: str) -> None:
    answer = page_client(page_folder).get(url)
    assert answer.status_code == 404
    assert answer.get_json()["error"]["kind"] == "not_found"
    assert "secret" not in answer.text.replace("secret.txt", "")


def test_what_is_refused_is_refused_in_one_line(client: FlaskClient) -> None:
    for url in ("/two%0Alines%0B", "/api/report?run=a%0Ab&worker=c", f"{REPORT}&step=a%E2%80%A8b"):
        message = client.get(url).get_json()["error"]["message"]
        assert len(message.splitlines()) == 1
