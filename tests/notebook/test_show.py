"""`hookview.show`: what is served, where the page opens, and who may read it."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

import pytest

import tb_hookview as hookview
from tb_hookview import TraceError, UsageError
from tb_hookview.notebook.display import VIEWS, Cell

ROOT = Path(__file__).resolve().parents[2]
TRACE = ROOT / "frontend" / "e2e" / "data" / "worker0.1.pt.trace.json.gz"


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    (folder / "tiny").mkdir(parents=True)
    shutil.copy(TRACE, folder / "tiny")
    return folder


def get(url: str, path: str, host: str = "127.0.0.1") -> tuple[int, Any, bytes]:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=300)
    connection.putrequest("GET", path, skip_host=True)
    connection.putheader("Host", host)
    connection.endheaders()
    answer = connection.getresponse()
    return answer.status, answer.headers, answer.read()


def printed(capsys: pytest.CaptureFixture[str]) -> str:
    """The address of the one line that was printed."""
    (line,) = capsys.readouterr().out.splitlines()
    return str(line).rpartition(": ")[2]


def test_outside_of_a_notebook_it_prints_an_address_that_answers(
    logdir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hookview.show(logdir, view="modules")
    url = printed(capsys)
    assert url.startswith("http://127.0.0.1:")
    assert url.endswith("/#/modules")
    status, _, body = get(url, f"{urlsplit(url).path}api/runs")
    assert (status, [run["name"] for run in json.loads(body)["runs"]]) == (200, ["tiny"])


def test_only_who_has_the_address_can_read_it(
    logdir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hookview.show(logdir)
    url = printed(capsys)
    prefix = urlsplit(url).path
    assert len(prefix) > 40
    for path in ("/", "/index.html", "/api/runs", f"{prefix[:-2]}/api/runs", "/x/../api/runs"):
        assert get(url, path)[0] == 404
    # A proxy passes requests on under its own name.
    status, headers, _ = get(url, prefix, "hub.example")
    assert status == 200
    assert "frame-ancestors" not in headers["Content-Security-Policy"]
    assert "default-src 'self'" in headers["Content-Security-Policy"]


def test_a_folder_is_served_once(logdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hookview.show(logdir)
    first = printed(capsys)
    hookview.show(str(logdir / "tiny" / ".."))
    assert printed(capsys) == first
    hookview.show(logdir / "tiny")
    assert urlsplit(printed(capsys)).netloc != urlsplit(first).netloc


def test_a_report_opens_its_own_trace_at_its_step(
    logdir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = hookview.analyze(logdir)
    step = report.data.steps[-1].name
    hookview.show(hookview.analyze(logdir, steps=[step]))
    url = printed(capsys)
    assert urlsplit(url).fragment == f"/summary?step={step.replace('#', '%23')}"
    runs = json.loads(get(url, f"{urlsplit(url).path}api/runs")[2])["runs"]
    assert [run["name"] for run in runs] == ["."]
    hookview.show(report)
    assert urlsplit(printed(capsys)).fragment == "/summary"


def test_a_run_opens_at_its_ranks(logdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hookview.show(hookview.analyze_run(logdir / "tiny"))
    assert urlsplit(printed(capsys)).fragment == "/ranks"


def test_mistakes_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="no such file or folder"):
        hookview.show(tmp_path / "nothing")
    with pytest.raises(UsageError, match="no view is called 'x'"):
        hookview.show(tmp_path, view="x")
    with pytest.raises(UsageError, match="height=0"):
        hookview.show(tmp_path, height=0)
    with pytest.raises(UsageError, match="int cannot be shown"):
        hookview.show(3)  # type: ignore[arg-type]


def test_its_views_are_those_of_the_page() -> None:
    source = (ROOT / "frontend" / "src" / "address" / "place.ts").read_text()
    found = re.search(r"VIEWS = \[(.*?)\]", source, re.DOTALL)
    assert found
    assert re.findall(r'"(\w+)"', found[1]) == list(VIEWS)


def test_names_are_text_in_a_cell() -> None:
    name = '</p><script>alert("1")</script>'
    html = Cell(name, 1, "/a/#/summary", 'http://127.0.0.1:1/a/"></script>', 400)._repr_html_()
    assert html.count("<script>") == html.count("</script>") == 1
    assert "&lt;script&gt;alert(&quot;1&quot;)" in html
    assert 'src="http://127.0.0.1:1/a/&quot;&gt;' in html


def test_the_server_ends_with_its_process(logdir: Path) -> None:
    code = f"import tb_hookview as hookview; hookview.show({str(logdir)!r})"
    done = subprocess.run(  # it would not end before a server that is no daemon
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True
    )
    with pytest.raises(ConnectionRefusedError):
        get(done.stdout.strip().rpartition(": ")[2], "/")


def test_colab_is_asked_for_its_proxy(logdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Colab's module as its source has it; it is not to be had elsewhere."""
    asked: list[tuple[int, str, str]] = []

    def serve(port: int, path: str = "/", width: str = "100%", height: str = "400") -> None:
        asked.append((port, path, height))

    colab, output = ModuleType("google.colab"), ModuleType("google.colab.output")
    output.serve_kernel_port_as_iframe = serve  # type: ignore[attr-defined]
    colab.output = output  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "google.colab", colab)
    monkeypatch.setitem(sys.modules, "google.colab.output", output)
    hookview.show(logdir, height=500)
    ((port, path, height),) = asked
    assert (path.endswith("/#/summary"), height) == (True, "500")
    assert get(f"http://127.0.0.1:{port}/", path.partition("#")[0])[0] == 200
