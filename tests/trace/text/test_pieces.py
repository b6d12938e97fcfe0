"""A trace cut into pieces reads as the trace read whole, wherever the cuts fall."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shared_traces
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict

from tb_hookview.trace import read_trace, trace_file
from tb_hookview.trace.columns.builder import Builder
from tb_hookview.trace.format.events import decode_events, decode_head
from tb_hookview.trace.source.inflate import BLOCK, blocks
from tb_hookview.trace.text.pieces import Piece, TraceRoot, cut

tricky = st.sampled_from(
    [
        "aten::mm",
        '},{"ph": "X"',
        "}, {",
        "[",
        "]",
        '"',
        "\\",
        '{"traceEvents": [',
        "é",
        "",
        "ph",
        "name",
    ]
)
events = st.lists(
    st.fixed_dictionaries(
        {
            "ph": st.sampled_from(["X", "i", "M"]),
            "name": tricky,
            "cat": st.just("cpu_op"),
            "ts": st.integers(0, 10**6),
            "args": st.dictionaries(tricky, st.lists(st.dictionaries(tricky, tricky), max_size=2)),
        }
    ),
    max_size=12,
)


def whole(path: Path) -> Iterator[Piece | TraceRoot]:
    """The events as one piece, then the root."""
    text = b"".join(blocks(trace_file(path)))
    head = None if text.startswith(b"[") else decode_head(text)
    array = bytes(head.traceEvents) if head else text
    yield Piece(*decode_events(array), array)
    yield TraceRoot("chrome-object" if head else "chrome-list", head)


def names(parts: Any) -> tuple[list[str], TraceRoot]:
    found: list[str] = []
    for part in parts:
        if isinstance(part, TraceRoot):
            return found, part
        assert not part.damages
        found += [event.name for event in part.events]
    raise AssertionError("no root")


@pytest.mark.slow
@given(events, st.integers(8, 400), st.sampled_from([None, 1]), st.booleans())
def test_cut_anywhere(
    tmp_path_factory: pytest.TempPathFactory,
    traced: list[dict[str, Any]],
    size: int,
    indent: int | None,
    as_list: bool,
) -> None:
    path = tmp_path_factory.mktemp("cut") / "t.json"
    before = {"schemaVersion": 1, "deviceProperties": [{"id": 3, "name": "},{"}]}
    after = {"distributedInfo": {"rank": 5}, "traceName": "]}"}
    content = traced if as_list else {**before, "traceEvents": traced, **after}
    path.write_text(json.dumps(content, indent=indent))
    expected, root = names(whole(path))
    assert expected == [event["name"] for event in traced]
    found, cut_root = names(cut(trace_file(path), size=size))
    assert found == expected
    assert not cut_root.damages
    assert cut_root.format == root.format
    if root.head and cut_root.head:
        assert cut_root.head.distributedInfo == root.head.distributedInfo == {"rank": 5}
        assert cut_root.head.deviceProperties == root.head.deviceProperties


@pytest.mark.parametrize("size", [5_000, 20_000])
@pytest.mark.parametrize(
    "name", ["hta_a100_alexnet_sync_events", "tracelens_h100_bert_small", "hta_mi250_minitoy"]
)
def test_columns_do_not_depend_on_the_cuts(name: str, size: int) -> None:
    path = shared_traces.shared_trace(name)
    one, many = Builder(), Builder()
    found_pieces = 0
    for part in whole(path):
        if isinstance(part, Piece):
            one.add(part)
    for part in cut(trace_file(path), size=size):
        if isinstance(part, Piece):
            many.add(part)
            found_pieces += 1
    assert found_pieces > 1
    expected, found = one.finish(), many.finish()
    assert found["strings"] == expected["strings"]
    assert found["threads"] == expected["threads"]
    for column, values in asdict(expected["events"]).items():
        np.testing.assert_array_equal(getattr(found["events"], column), values)
    for column, values in asdict(expected["flows"]).items():
        np.testing.assert_array_equal(getattr(found["flows"], column), values)


def test_a_large_trace_is_held_a_piece_at_a_time(tmp_path: Path) -> None:
    """The events alive at any moment are those of one piece, however long the file."""
    one = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 1}
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"traceEvents": [one] * 30_000}))
    sizes = [len(part.events) for part in cut(trace_file(path)) if isinstance(part, Piece)]
    assert sum(sizes) == 30_000
    assert max(sizes) * len(json.dumps(one)) <= 2 * BLOCK + 1000


@pytest.mark.slow
def test_another_order_of_keys_is_read_a_piece_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    odd = {"other": 1, "ph": "X", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 1, "dur": 1}
    odd["name"] = "x" * 60
    path.write_text(json.dumps({"traceEvents": [odd] * 100_000}))
    sizes = [len(part.events) for part in cut(trace_file(path)) if isinstance(part, Piece)]
    assert sum(sizes) == 100_000
    assert max(sizes) < 60_000
    assert read_trace(path).notices == ()
