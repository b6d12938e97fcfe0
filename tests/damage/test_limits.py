"""Bombs and absurd counts meet a limit that is named; damage costs no memory and little time."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path

import pytest

from tb_hookview.errors import TraceError, UsageError
from tb_hookview.trace import read_trace, trace_file
from tb_hookview.trace.source import inflate
from tb_hookview.trace.source.inflate import BLOCK
from tb_hookview.trace.text.pieces import Piece, cut

EVENT = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 1}


def written(path: Path, text: str) -> Path:
    path.write_bytes(gzip.compress(text.encode(), 1) if path.suffix == ".gz" else text.encode())
    return path


def refusal(path: Path) -> str:
    with pytest.raises(TraceError) as caught:
        read_trace(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("variable", "bound", "reason"),
    [
        ("HOOKVIEW_MAX_BYTES", "1000", "more than 1,000 bytes of JSON"),
        ("HOOKVIEW_MAX_EVENTS", "99", "more than 99 events"),
    ],
)
def test_the_message_names_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, bound: str, reason: str
) -> None:
    path = written(tmp_path / "t.json", json.dumps({"traceEvents": [EVENT] * 100}))
    assert read_trace(path).event_count == 100
    monkeypatch.setenv(variable, bound)
    message = refusal(path)
    assert reason in message
    assert f"set {variable} to allow more" in message


def test_a_bomb_is_found_by_how_much_it_inflates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "t.json.gz", '{"traceEvents": [' + " " * (8 * BLOCK))
    monkeypatch.setattr(inflate, "PACKED_FREELY", 2 * BLOCK)
    monkeypatch.setenv("HOOKVIEW_MAX_RATIO", "50")
    message = refusal(path)
    assert "more than 50 times as many bytes" in message
    assert "HOOKVIEW_MAX_RATIO" in message
    monkeypatch.setenv("HOOKVIEW_MAX_RATIO", "100000")
    assert "before any event" in refusal(path)


@pytest.mark.slow
def test_one_event_may_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = {**EVENT, "name": "x" * (6 * BLOCK)}
    path = written(tmp_path / "t.json", json.dumps({"traceEvents": [EVENT, long, EVENT]}))
    assert read_trace(path).event_count == 3
    monkeypatch.setenv("HOOKVIEW_MAX_EVENT_BYTES", "4000000")
    message = refusal(path)
    assert "of over 4,000,000 bytes" in message
    assert "HOOKVIEW_MAX_EVENT_BYTES" in message


@pytest.mark.parametrize("text", ["0", "-1", "many", "1e9", "9" * 30])
def test_a_limit_that_is_not_a_number_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    path = written(tmp_path / "t.json", json.dumps({"traceEvents": [EVENT]}))
    monkeypatch.setenv("HOOKVIEW_MAX_EVENTS", text)
    with pytest.raises(UsageError, match="HOOKVIEW_MAX_EVENTS is"):
        read_trace(path)


@pytest.mark.parametrize("damage", ["name\t\\q", 'na"me', '"', "}"])
def test_a_damaged_file_is_held_a_piece_at_a_time(tmp_path: Path, damage: str) -> None:
    """Every event is damaged, of a file of several pieces."""
    one = json.dumps(EVENT).replace("aten::mm", f"aten::{damage}")
    path = written(tmp_path / "t.json", '{"traceEvents": [' + ",\n".join([one] * 1_000) + "]}")
    tracemalloc.start()
    try:
        held = [
            len(part.events)
            for part in cut(trace_file(path), size=1 << 12)
            if isinstance(part, Piece)
        ]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(held) > 20
    assert peak < path.stat().st_size


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit", ['{"ph":', '{"ph":[', '[{"a":', '{"ph":"', "]", "{", ",", '"', "\\"]
)
def test_no_damage_takes_long(tmp_path: Path, unit: str) -> None:
    """A megabyte of the same; were the work quadratic, this would not end."""
    path = written(tmp_path / "t.json", '{"traceEvents": [' + unit * (BLOCK // len(unit)))
    assert "before any event" in refusal(path)
