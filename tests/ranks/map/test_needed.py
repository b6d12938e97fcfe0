"""What a summary needs of a trace: where no more is read, it is the same as with everything."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gallery
import pytest
from support.same_trace import assert_same

from tb_hookview.analysis.analysis import analyze_trace
from tb_hookview.errors import TraceError
from tb_hookview.ranks.map.summary import NEEDED, Mapped, summarize
from tb_hookview.trace import EventCategory, Wanted, read_trace
from tb_hookview.trace.format.vocabulary import EVERYTHING

DAMAGED = Path(__file__).resolve().parents[2] / "data" / "damage"
SMALL = 100_000
"""Bytes of a packed trace that is damaged here many times."""


def mapped(path: Path, wanted: Wanted) -> Mapped | str:
    """The summary of a trace, or why it has none."""
    try:
        trace = read_trace(path, wanted=wanted)
    except TraceError as error:
        return str(error)
    return summarize(analyze_trace(trace))


def check(path: Path) -> None:
    assert_same(mapped(path, NEEDED), mapped(path, EVERYTHING), path.name)


@pytest.mark.parametrize("path", sorted(DAMAGED.iterdir()), ids=lambda path: path.name)
def test_the_summary_of_a_damaged_file_is_that_of_all_columns(path: Path) -> None:
    check(path)


def row(category: str, name: str, start: float, duration: float, **args: Any) -> dict[str, Any]:
    place = {"ph": "X", "pid": 1, "tid": 1}
    return {**place, "cat": category, "name": name, "ts": start, "dur": duration, "args": args}


def test_functions_are_left_out_but_for_modules_and_the_ends_of_time(tmp_path: Path) -> None:
    since_1970 = 1_700_000_000_000_000.0
    functions = [
        row("python_function", f"f.py({n}): f", since_1970 + n / 8, 100 - n / 4) for n in range(300)
    ]
    rows = [
        *functions,
        row("python_function", "nn.Module: Linear_0", since_1970 + 20, 9),
        row("cpu_op", "aten::mm", since_1970 + 21, 5),
        row("kernel", "gemm", since_1970 + 22, 5, correlation=1, device=0, grid=[1, 1, 1]),
    ]
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"traceEvents": rows}), encoding="utf-8")
    check(path)
    trace = read_trace(path, wanted=NEEDED)
    read = {trace.strings[name] for name in trace.events.name.tolist()}
    assert {"nn.Module: Linear_0", "aten::mm", "gemm", "f.py(0): f"} <= read
    assert 0 < int((trace.events.kind == EventCategory.PYTHON).sum()) < len(functions) / 4
    assert trace.event_count == len(rows)


def test_columns_that_are_not_wanted_cannot_be_taken_for_empty_ones() -> None:
    trace = read_trace(gallery.recordings()[0], wanted=NEEDED)
    assert len(trace.events)
    assert len(trace.events.grid) == 0
    with pytest.raises(IndexError):
        trace.events.grid[[0]]


def test_texts_of_inputs_are_those_of_collectives(tmp_path: Path) -> None:
    described = {"Input Dims": [[8]], "Input type": ["float"]}
    rows = [
        row("cpu_op", "aten::mm", 1, 1, **described),
        row("cpu_op", "gloo:all_reduce", 3, 1, **described),
    ]
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"traceEvents": rows}), encoding="utf-8")
    trace = read_trace(path, wanted=NEEDED)
    assert [trace.texts[text] for text in trace.events.shapes.tolist()] == ["", "[[8]]"]
    found = mapped(path, NEEDED)
    assert isinstance(found, Mapped)
    assert found.summary.collectives.bytes.tolist() == [32]
    check(path)
