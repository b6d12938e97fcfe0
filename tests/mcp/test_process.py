"""The server as a process: real and large traces, standard output, what it needs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")
from shared_traces import shared_trace
from support.inflated import EVENTS_OF_A_STEP, write_training_trace
from support.mcp_client import ask

import tb_hookview
from tb_hookview.mcp.server import NAMES

TRACE = Path(__file__).resolve().parents[1] / "data" / "recorder_v1.pt.trace.json.gz"
MOST_CHARACTERS = 12_000
"""Of an answer: what docs/agents.md promises."""


def asked_of_each_tool(path: str) -> list[tuple[str, dict[str, Any]]]:
    other: dict[str, dict[str, Any]] = {
        "runs": {},
        "event": {"path": path, "contains": "a"},
        "compare": {"base": path, "other": path},
        "ranks": {"path": "."},
        "sql": {"path": path, "query": "select path, calls from modules order by 1"},
    }
    return [(name, other.get(name, {"path": path})) for name in NAMES]


@pytest.mark.parametrize(
    "name",
    [
        "hta_v100_training.json.gz",
        "hta_a100_nccl_training.json.gz",
        "tracelens_h100_bert_small.json.gz",
        "hta_cpu_only.json.gz",
        "tracelens_mi210_gpu_only.json.gz",
    ],
)
def test_real_traces_answer_every_question(tmp_path: Path, name: str) -> None:
    (tmp_path / name).symlink_to(shared_trace(name))  # which leads out of the root
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / name).write_bytes(shared_trace(name).read_bytes())
    data = tb_hookview.analyze(tmp_path / "copy" / name).data
    of_syncs = [("event", {"path": name, "event_id": sync.event_id}) for sync in data.syncs[:1]]
    said = ask(tmp_path / "copy", *asked_of_each_tool(name), *of_syncs)
    for tool, answer in zip([*NAMES, *("event" for _ in of_syncs)], said.answers, strict=True):
        assert not answer.is_error or tool in ("ranks", "whatif"), answer.text
        assert len(answer.text) <= MOST_CHARACTERS
    for sync, answer in zip(data.syncs, said.answers[len(NAMES) :], strict=False):
        assert sync.api in answer.text
    assert ask(tmp_path, ("summary", {"path": name})).answers[0].is_error


@pytest.mark.slow
def test_answers_about_a_large_trace_are_bounded(tmp_path: Path) -> None:
    steps = 1_200_000 // EVENTS_OF_A_STEP + 1
    assert write_training_trace(tmp_path / "large.pt.trace.json.gz", steps) >= 1_200_000
    said = ask(
        tmp_path,
        *asked_of_each_tool("large.pt.trace.json.gz"),
        ("summary", {"path": ".", "limit": 1000}),
        ("syncs", {"path": ".", "limit": 10**6}),
    )
    for answer in said.answers:
        assert not answer.is_error, answer.text
        assert len(answer.text) <= MOST_CHARACTERS


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
        [sys.executable, "-m", "tb_hookview.cli", "mcp", "--root", str(TRACE.parent)],
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
    rest, errors = process.communicate(timeout=60)
    assert [answer["id"] for answer in answers] == [1, 2, 3]
    assert rest == ""
    assert "Traceback" not in errors
    assert process.returncode == 0


_HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


def test_without_the_extra_a_line_says_how_to_get_it(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['mcp'] = None\n"
        "from tb_hookview.cli import main; main(['mcp'], standalone_mode=True)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "pip install 'tb-hookview[mcp,sql]'" in done.stderr


def test_a_root_that_is_no_folder_is_an_error_of_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tb_hookview.cli", "mcp", "--root", str(tmp_path / "no")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert "no folder of this machine" in done.stderr
    assert done.stderr.count("\n") == 1
