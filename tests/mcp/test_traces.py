"""Every tool on real traces, and on one of which no answer can hold all."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import grid
import pytest

pytest.importorskip("mcp", reason="needs mcp: pip install mcp")
pytest.importorskip("duckdb", reason="needs duckdb: pip install duckdb")
from shared_traces import shared_trace
from support.here import ranks_read_here
from support.mcp_client import ask

import tb_hookview
from tb_hookview.mcp.server import NAMES

__all__ = ["ranks_read_here"]
pytestmark = pytest.mark.usefixtures("ranks_read_here")
MOST_CHARACTERS = 12_000
"""Of an answer: what docs/how-to/agents.md promises."""


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


MANY, LONG = 200, "layer" * 12
"""Of each kind of row, and a part of their names."""


def of_many_rows() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []

    def add(category: str, name: str, start: int, duration: float, **args: Any) -> None:
        place = {"pid": int(category == "kernel"), "tid": 1, "ts": start, "dur": duration}
        rows.append({"ph": "X", "cat": category, "name": name, **place, "args": args})

    for step in range(MANY):
        begin = 1000 + 100 * step
        add("user_annotation", f"ProfilerStep#{step}", begin, 99)
        add("python_function", f"nn.Module: {LONG}_{step}", begin + 1, 90)
        add("cpu_op", f"aten::{LONG}_{step}", begin + 2, 80)
        add("cuda_runtime", "cudaLaunchKernel", begin + 3, 5, correlation=step + 1)
        add("kernel", f"{LONG}_{step}", begin + 10, 50, correlation=step + 1, device=0, stream=7)
        add("cuda_runtime", "cudaDeviceSynchronize", begin + 10, 55)
    return rows


def test_answers_about_many_rows_are_bounded_and_lead_to_the_others(tmp_path: Path) -> None:
    grid.write(tmp_path / "t.json", of_many_rows())
    all_rows = ("summary", "modules", "syncs", "sql")
    asked = [
        (name, arguments | ({"limit": 10**6} if name in all_rows else {}))
        for name, arguments in asked_of_each_tool("t.json")
    ]
    said = dict(zip(NAMES, ask(tmp_path, *asked).answers, strict=True))
    for answer in said.values():
        assert not answer.is_error, answer.text
        assert len(answer.text) <= MOST_CHARACTERS
    for name in all_rows:
        assert len(said[name].text) > MOST_CHARACTERS / 2, name
        assert re.search(r"offset=\d+", said[name].text) or name == "summary"
