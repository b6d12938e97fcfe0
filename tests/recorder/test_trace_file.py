"""Marks in trace files of every layout that torch's writers have."""

from __future__ import annotations

import io
import json
import tracemalloc

import pytest

from tb_hookview.recorder import writing
from tb_hookview.recorder.backward_marks_from_trace import Mark

BASE = 1_700_000_000_000_000_000
MARKS = [Mark('b "c"', 1, 2, BASE + 1_234_567), Mark("d", 3, 4, BASE + 2_000_000)]
ADDED = [('b "c"', 1, 2, 1234.567), ("d", 3, 4, 2000.0)]
EVENTS = [{"ph": "X", "name": "a", "pid": 0, "tid": 0, "ts": 1.5, "dur": 1}]
TRAP = {"name": 'looks like "traceEvents": [ and "baseTimeNanoseconds": 5, in a string'}


def copied(text: str, marks=MARKS) -> tuple[bool, bytes]:
    target = io.BytesIO()
    return writing.copy(io.BytesIO(text.encode()), target, marks), target.getvalue()


def rows(text: bytes) -> list[tuple[object, ...]]:
    return [(e["name"], e["pid"], e["tid"], e["ts"]) for e in json.loads(text)["traceEvents"]]


LAYOUTS = {
    "one line": lambda content: json.dumps(content, separators=(",", ":")),
    "one line with spaces": json.dumps,
    "a line for each value": lambda content: json.dumps(content, indent=2),
    "tabs": lambda content: json.dumps(content, indent="\t"),
}
ORDERS = {
    "base first": ["trap", "baseTimeNanoseconds", "traceEvents"],
    "base last": ["trap", "traceEvents", "baseTimeNanoseconds"],
    "events first": ["traceEvents", "trap", "baseTimeNanoseconds"],
}


@pytest.mark.parametrize("events", [EVENTS, []], ids=["events", "no events"])
@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_marks_are_added_to_any_layout(layout, order, events):
    values = {"trap": TRAP, "baseTimeNanoseconds": BASE, "traceEvents": events}
    done, text = copied(layout({key: values[key] for key in order}))
    assert done
    assert rows(text) == [*ADDED, *[(e["name"], e["pid"], e["tid"], e["ts"]) for e in events]]
    assert json.loads(text)["trap"] == TRAP


@pytest.mark.parametrize("distance", range(-60, 5, 3))
def test_the_list_is_found_wherever_chunks_end(distance):
    chunk = writing._CHUNK
    filler = {"filler": "x" * (chunk - 30 + distance), "baseTimeNanoseconds": BASE}
    done, text = copied(json.dumps({**filler, "traceEvents": EVENTS}))
    assert done
    assert rows(text)[:2] == ADDED
    assert json.loads(text)["filler"] == filler["filler"]


def test_without_marks_the_copy_is_the_file():
    text = json.dumps({"traceEvents": EVENTS})
    assert copied(text, []) == (True, text.encode())


@pytest.mark.parametrize("text", ['{"events": []}', '{"traceEvents": {}}', "", "PK\x03\x04"])
def test_a_file_without_a_list_is_copied_as_it_is(text):
    assert copied(text) == (False, text.encode())


def test_a_line_as_long_as_the_file_is_not_held_in_memory(tmp_path):
    plain = tmp_path / "trace.json"
    event = json.dumps(EVENTS[0])
    with plain.open("w") as file:
        file.write(f'{{"baseTimeNanoseconds":{BASE},"traceEvents":[{event}')
        for _ in range(400_000):
            file.write(f",{event}")
        file.write("]}")
    assert plain.stat().st_size > 20 * writing._CHUNK
    with plain.open("rb") as source, (tmp_path / "copy.json").open("wb") as target:
        tracemalloc.start()
        done = writing.copy(source, target, MARKS)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert done
    assert peak < 5 * writing._CHUNK
