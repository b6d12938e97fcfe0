"""One argument of events as a column: where it is written, where not, and where it is odd."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tb_hookview.trace.columns.builder import Builder
from tb_hookview.trace.columns.trace import Events, StringTable
from tb_hookview.trace.format.events import decode_events
from tb_hookview.trace.text.pieces import Piece


def event(category: str, **args: Any) -> dict[str, Any]:
    place = {"pid": 1, "tid": 1, "ts": 1, "dur": 1}
    return {"ph": "X", "cat": category, "name": "n", **place, "args": args}


def build(*events: dict[str, Any]) -> dict[str, Any]:
    text = json.dumps(events).encode()
    builder = Builder()
    builder.add(Piece(*decode_events(text), text))
    return builder.finish()


def column(name: str, *events: dict[str, Any]) -> list[Any]:
    made: Events = build(*events)["events"]
    return list(getattr(made, name).tolist())


def test_a_whole_number_is_that_of_the_event_or_the_value_for_none() -> None:
    events = (
        event("gpu_memcpy", bytes=8),
        event("gpu_memcpy"),
        event("gpu_memcpy", bytes=[8]),
        event("gpu_memcpy", bytes="16"),
        event("kernel", bytes=8),
        event("cpu_op", bytes=8),
    )
    assert column("bytes", *events) == [8, -1, -1, 16, -1, -1]


def test_none_is_zero_where_the_argument_says_so() -> None:
    events = (event("kernel", **{"graph id": 3}), event("kernel"), event("cpu_op"))
    assert column("graph", *events) == [3, 0, 0]


def test_a_measure_is_a_float_and_nan_for_none() -> None:
    key = "blocks per SM"
    values = [2.5, None, "inf", [1], 1e16]
    events = [event("kernel", **({} if v is None else {key: v})) for v in values]
    events.append(event("cpu_op", **{key: 2.5}))
    nan = np.nan
    np.testing.assert_array_equal(column("blocks_per_sm", *events), [2.5, nan, nan, nan, nan, nan])


@pytest.mark.parametrize(
    ("occupancy", "blocks", "block", "expected"),
    [
        (0, 0.848, [384, 1, 1], np.nan),
        (0, 0.18, [128, 1, 1], np.nan),
        (0, 0.0075, [64, 1, 1], 0),
        (25, 0.848, [384, 1, 1], 25),
        (0, 2.0, "384", 0),
        (0, 2.0, None, 0),
    ],
)
def test_no_occupancy_at_all_is_unknown_where_there_are_warps(
    occupancy: float, blocks: float, block: Any, expected: float
) -> None:
    one = event(
        "kernel",
        **{"est. achieved occupancy %": occupancy, "blocks per SM": blocks, "block": block},
    )
    np.testing.assert_array_equal(column("occupancy", one), [expected])


def test_a_text_is_its_json_and_empty_for_none() -> None:
    key = "Input Dims"
    events = (
        event("cpu_op", **{key: [[8, 16], []]}),
        event("cpu_op"),
        event("kernel", **{key: [1]}),
    )
    made = build(*events)
    texts: StringTable = made["texts"]
    assert [json.loads(texts[i] or "null") for i in made["events"].shapes.tolist()] == [
        [[8, 16], []],
        None,
        None,
    ]


@pytest.mark.parametrize("spelling", ["External id", "external id"])
def test_any_spelling_counts(spelling: str) -> None:
    assert column("external", event("cpu_op", **{spelling: 4})) == [4]


def test_an_odd_value_is_counted_and_costs_no_other() -> None:
    odd = event("gpu_memcpy", bytes=[8], correlation=7)
    assert column("correlation", odd) == [7]
    assert [(n.code, n.times) for n in build(odd)["notices"]] == [("unexpected-type", 1)]


@pytest.mark.parametrize(("last", "exact"), [("000", False), ("120", True)])
def test_only_times_in_parts_of_microseconds_are_read_as_text(
    monkeypatch: pytest.MonkeyPatch, last: str, exact: bool
) -> None:
    """A double of the time since 1970 holds whole microseconds, however they are written."""
    read: list[Piece] = []
    of_piece = Piece.time_texts

    def time_texts(piece: Piece, chosen: list[Any]) -> Any:
        read.append(piece)
        return of_piece(piece, chosen)

    monkeypatch.setattr(Piece, "time_texts", time_texts)
    row = '{"ph": "X", "cat": "cpu_op", "name": "n", "pid": 1, "tid": 1, "ts": %s, "dur": 1}'
    times = ["1700000000123456.0"] * 1000 + [f"1700000000123456.{last}"]
    text = f"[{', '.join(row % time for time in times)}]".encode()
    builder = Builder()
    builder.add(Piece(*decode_events(text), text))
    start = builder.finish()["events"].start
    assert bool(read) == exact
    assert start.tolist() == [1_700_000_000_123_456_000] * 1000 + [
        1_700_000_000_123_456_000 + int(last)
    ]
