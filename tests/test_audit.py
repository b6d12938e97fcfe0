"""The look for advisories, against a registry of our own on this machine."""

from __future__ import annotations

import json
import runpy
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

AUDIT = runpy.run_path(str(Path(__file__).parents[1] / ".ci" / "audit.py"))
main: Callable[[list[str]], int] = AUDIT["main"]


class Registry(BaseHTTPRequestHandler):
    packages: dict[str, Any] = {}  # noqa: RUF012  # one registry a test

    def do_GET(self) -> None:
        known = self.packages.get(self.path)
        self.send_response(404 if known is None else 200)
        self.end_headers()
        self.wfile.write(json.dumps(known or {}).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def index() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Registry) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
    Registry.packages = {}


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    status = main([*arguments, "--frontend", "nowhere/at/all"])
    return status, capsys.readouterr().out


def test_an_advisory_about_an_installed_version_fails(
    index: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = {"id": "PYSEC-1", "fixed_in": ["99.0"], "withdrawn": None}
    gone = {"id": "PYSEC-2", "fixed_in": [], "withdrawn": "2020-01-01"}
    flask = version("flask")
    Registry.packages = {
        "/pypi/flask/3.0.0/json": {"vulnerabilities": []},
        f"/pypi/Flask/{flask}/json": {"vulnerabilities": [found, gone]},
        "/pypi/Flask/0.1/json": {"vulnerabilities": [{**found, "id": "PYSEC-3"}]},
    }
    status, told = said(capsys, "--index", index)
    assert status == 1
    assert f"audit: PYSEC-1 Flask {flask}: fixed in 99.0\n" in told
    assert "Python packages: 1 known advisories" in told


def test_none_is_well(index: str, capsys: pytest.CaptureFixture[str]) -> None:
    Registry.packages = {"/pypi/flask/3.0.0/json": {"vulnerabilities": []}}
    status, told = said(capsys, "--index", index)
    assert status == 0
    assert "Python packages: 0 known advisories" in told
    assert f"audit: Flask {version('flask')} is not known to the registry" in told


def test_a_registry_that_does_not_tell_is_said_to_be_skipped(
    index: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, told = said(capsys, "--index", index)
    assert status == 0
    assert "audit: Python packages skipped" in told
    assert "audit: packages of the page skipped" in told
    status, told = said(capsys, "--index", "http://127.0.0.1:1")
    assert (status, "Python packages skipped" in told) == (0, True)
