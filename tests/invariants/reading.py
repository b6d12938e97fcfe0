"""A trace read in another way is the same trace."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import msgspec
import numpy as np
import pytest
from invariants.case import Case
from invariants.registry import Of, invariant
from msgspec import structs
from support.same_trace import assert_same

from tb_hookview.trace import EventCategory, Trace
from tb_hookview.trace.format.events import events_decoder
from tb_hookview.trace.format.vocabulary import EVERYTHING
from tb_hookview.trace.source.inflate import Notice


@invariant(Of.FILES, slow=True)
def events_decoded_by_category_are_those_of_one_type(case: Case) -> None:
    """But for values that no row of a category needs: one of an odd type is not looked at."""
    with pytest.MonkeyPatch.context() as changed:
        decoder = events_decoder(EVERYTHING)  # without categories: no event is of this type
        changed.setattr(decoder, "_by_category", msgspec.json.Decoder(list[msgspec.UnsetType]))
        again = Case(case.path).read
    if isinstance(again, str) or isinstance(case.read, str):
        assert again == case.read
        return
    assert _unseen(case.read) <= _unseen(again)
    assert_same(*(structs.replace(t, notices=_others(t)) for t in (case.read, again)))


UNSEEN = ("repaired", "unexpected-type")
"""Codes of what is wrong in a value, and not known where nobody looks at it."""


def _unseen(trace: Trace) -> Counter[str]:
    return Counter({n.code: n.times for n in trace.notices if n.code in UNSEEN})


def _others(trace: Trace) -> tuple[Notice, ...]:
    return tuple(notice for notice in trace.notices if notice.code not in UNSEEN)


@invariant(Of.RECORDINGS, slow=True)
def columns_are_those_of_a_plain_reading(case: Case) -> None:
    """Column by column against the standard library's parser."""
    trace, rows = case.trace, [row for row in case.rows if row["ph"] == "X"]
    assert trace.event_count == len(case.rows)
    assert [trace.strings[i] for i in trace.events.name.tolist()] == [
        row.get("name", "") for row in rows
    ]
    assert trace.events.start.tolist() == [_ns(row["ts"]) for row in rows]
    assert trace.events.duration.tolist() == [_ns(row.get("dur", 0)) for row in rows]
    threads = [trace.threads[i][:2] for i in trace.events.thread.tolist()]
    assert threads == [(str(row["pid"]), str(row["tid"])) for row in rows]
    calls = (EventCategory.RUNTIME, EventCategory.KERNEL, EventCategory.COPY, EventCategory.SET)
    assert trace.events.correlation.tolist() == [
        (row.get("args") or {}).get("correlation", -1) if has_one else -1
        for row, has_one in zip(rows, _are(case, *calls), strict=True)
    ]


@invariant(Of.RECORDINGS, slow=True)
def arguments_are_those_of_a_plain_reading(case: Case) -> None:
    trace, args = case.trace, _arguments(case)
    moves = _are(case, EventCategory.COPY, EventCategory.SET)
    moved = [int(a.get("bytes", -1)) if move else -1 for a, move in zip(args, moves, strict=True)]
    assert trace.events.bytes.tolist() == moved
    operators = _are(case, EventCategory.OPERATOR, EventCategory.ANNOTATION)
    types = [trace.texts[number] for number in trace.events.types.tolist()]
    for text, given, is_one in zip(types, args, operators, strict=True):
        expected = given.get("Input type") if is_one else None
        assert (json.loads(text) if text else None) == expected


@invariant(Of.RECORDINGS, slow=True)
def memory_and_collectives_are_those_of_a_plain_reading(case: Case) -> None:
    trace, args = case.trace, _arguments(case)
    memory = [row for row in case.rows if row.get("name") == "[memory]"]
    assert trace.memory.time.tolist() == [_ns(row["ts"]) for row in memory]
    assert trace.memory.amount.tolist() == [row["args"]["Bytes"] for row in memory]
    reserved = [row["args"].get("Total Reserved", -1) for row in memory]
    assert trace.memory.reserved.tolist() == reserved
    assert trace.memory.address.tolist() == [row["args"].get("Addr", -1) for row in memory]
    threads = [trace.threads[number].tid for number in trace.memory.thread.tolist()]
    assert threads == [str(row["tid"]) for row in memory]
    complete = [row for row in case.rows if row["ph"] == "X"]
    calls = [i for i, row in enumerate(complete) if row["name"] == "record_param_comms"]
    calls = calls if any("Group size" in args[i] for i in calls) else []
    table = trace.collectives
    assert table.event.tolist() == calls
    assert list(table.collective) == [args[i].get("Collective name", "") for i in calls]
    assert list(table.dtype) == [args[i].get("dtype", "") for i in calls]
    for column, key in ((table.sent, "In msg nelems"), (table.group_size, "Group size")):
        assert column.tolist() == [args[i].get(key, -1) for i in calls]


def _are(case: Case, *kinds: EventCategory) -> list[bool]:
    return np.isin(case.trace.events.kind, kinds).tolist()


def _arguments(case: Case) -> list[dict[str, Any]]:
    return [row.get("args") or {} for row in case.rows if row["ph"] == "X"]


def _ns(written: object) -> int:
    whole, _, fraction = str(written).partition(".")
    return int(whole) * 1000 + int((fraction + "000")[:3])
