"""The server as a process: its standard input and output, and how it refuses to start."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="needs mcp: pip install mcp")
from support.command import HOOKVIEW, call

TRACE = Path(__file__).resolve().parents[1] / "data" / "recorder_v1.pt.trace.json.gz"


def test_nothing_but_the_protocol_is_on_standard_output(tmp_path: Path) -> None:
    asked = [
        {"method": "initialize", "id": 1, "params": _HELLO},
        {"method": "notifications/initialized"},
        {
            "method": "tools/call",
            "id": 2,
            "params": {"name": "summary", "arguments": {"path": TRACE.name}},
        },
        {
            "method": "tools/call",
            "id": 3,
            "params": {"name": "summary", "arguments": {"path": "missing"}},
        },
    ]
    process = subprocess.Popen(
        [*HOOKVIEW, "mcp", "--root", str(TRACE.parent)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin
    assert process.stdout
    answers = []
    for message in asked:
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        process.stdin.flush()
        if "id" in message:
            answers.append(json.loads(process.stdout.readline()))
    rest, errors = process.communicate(timeout=300)
    assert [answer["id"] for answer in answers] == [1, 2, 3]
    assert rest == ""
    assert "Traceback" not in errors
    assert process.returncode == 0


_HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


def test_without_the_extra_a_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    done = call("mcp")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "pip install 'tb-hookview[mcp,sql]'" in done.stderr


def test_a_root_that_is_no_folder_is_an_error_of_one_line(tmp_path: Path) -> None:
    done = call("mcp", "--root", tmp_path / "no")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no folder of this machine" in done.stderr
    assert done.stderr.count("\n") == 1
