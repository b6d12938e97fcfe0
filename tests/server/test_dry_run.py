"""The JSON of a dry run, served in the place of traces."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tb_hookview.schema.host import DryRunReport
from tb_hookview.server import create_app

REPORT = DryRunReport(
    program="train.py",
    torch_version="2.13.0",
    python_version="3.12.1",
    devices=1,
    steps=2,
    measured=[1],
    sync_count=0,
    most_per_step=0,
    syncs=[],
    notes=[],
    unknown=["what a sync costs"],
    unused_allowances=[],
)


@pytest.mark.parametrize("indent", [-1, 2])
def test_a_dry_run_is_served_as_it_was_written(tmp_path: Path, indent: int) -> None:
    path = tmp_path / "dry.json"
    path.write_bytes(msgspec.json.format(msgspec.json.encode(REPORT), indent=indent))
    client = create_app(path).test_client()
    runs = client.get("/api/runs").get_json()
    assert (runs["dry_run"], runs["runs"]) == ("dry.json", [])
    assert client.get("/api/dry_run").get_json() == msgspec.to_builtins(REPORT)


def test_a_broken_dry_run_says_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "dry.json"
    path.write_bytes(msgspec.json.encode(REPORT)[:-5])
    client = create_app(path).test_client()
    assert client.get("/api/runs").get_json()["dry_run"] == "dry.json"
    answer = client.get("/api/dry_run")
    assert answer.status_code == 422
    assert "is not a whole dry run" in answer.get_json()["error"]["message"]
    assert "hookview dry-run --json" in answer.get_json()["error"]["message"]


def test_traces_are_no_dry_run(tmp_path: Path) -> None:
    path = tmp_path / "a.pt.trace.json"
    path.write_text('{"traceEvents": [{"kind": "dry-run"}]}')
    client = create_app(path).test_client()
    runs = client.get("/api/runs").get_json()
    assert runs["dry_run"] is None
    assert len(runs["runs"]) == 1
    assert client.get("/api/dry_run").status_code == 404
