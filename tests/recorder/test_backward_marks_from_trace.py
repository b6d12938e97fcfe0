"""Marks found after a recording, compared with a slow oracle, and in files."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.recording import Trace, only_trace, record
from torch import nn

import tb_hookview as hookview
from tb_hookview.recorder import writing
from tb_hookview.recorder.backward_marks_from_trace import Mark, Nested, find_backward_marks
from tb_hookview.recorder.hooks import CallMarks, OpenCalls
from tb_hookview.recorder.ranges import BackwardNames, FinishedCall, RecordingState, ThreadCalls

EVALUATE = "autograd::engine::evaluate_function: "


@dataclass
class Event:
    """The part of the profiler's event that is looked at."""

    text: str
    start: int
    end: int
    number: int = -1
    made_on: int = 0
    kind: int = 0
    native: int = 10
    logical: int = 1

    def name(self) -> str:
        return self.text

    def start_ns(self) -> int:
        return self.start

    def duration_ns(self) -> int:
        return self.end - self.start

    def sequence_nr(self) -> int:
        return self.number

    def fwd_thread_id(self) -> int:
        return self.made_on

    def scope(self) -> int:
        return self.kind

    def device_index(self) -> int:
        return 7

    def device_resource_id(self) -> int:
        return self.native

    def start_thread_id(self) -> int:
        return self.logical


def forward_row() -> Event:
    return Event(" (Net) forward ~hv1", 0, 1)


def node_rows(number: int, start: int) -> list[Event]:
    return [
        Event(f"{EVALUATE}N", start, start + 8, number, 1),
        Event("N", start + 1, start + 7, number, 1, kind=1),
    ]


def finished(path: str, start: int, end: int) -> FinishedCall:
    return BackwardNames(f"{path} (X) before", f"{path} (X) after"), start, end


@st.composite
def notes_of_calls(draw: st.DrawFn) -> list[FinishedCall]:
    """Calls inside of calls, in the order in which they end, and nodes between them."""
    notes: list[FinishedCall] = []
    number = 0

    def call(path: str, depth: int) -> None:
        nonlocal number
        start = number
        for child in range(draw(st.integers(0, 3)) if depth else 0):
            number += draw(st.integers(0, 2))
            call(f"{path}.{child}", depth - 1)
        number += draw(st.integers(0, 2))
        if number > start:
            notes.append(finished(path, start, number))

    for root in range(draw(st.integers(1, 3))):
        call(str(root), 3)
        number += draw(st.integers(0, 2))
    return notes


@given(notes_of_calls(), st.integers(0, 60))
def test_the_intervals_around_a_point_are_all_that_hold_it(notes, point):
    intervals = [(start, end) for _, start, end in notes[::-1]]
    holding = [n for n, (start, end) in enumerate(intervals) if start <= point < end]
    assert Nested(intervals).around(point) == holding


@given(notes_of_calls(), st.data())
def test_marks_change_from_the_calls_around_one_node_to_those_around_the_next(notes, data):
    last = max((end for _, _, end in notes), default=0) + 1
    numbers = sorted(data.draw(st.sets(st.integers(0, last))), reverse=True)
    rows = [row for place, n in enumerate(numbers) for row in node_rows(n, 100 + 10 * place)]
    marks = find_backward_marks([ThreadCalls(10, notes)], [forward_row(), *rows])
    assert [(mark.name, mark.time) for mark in marks] == slowly(notes, numbers)


def slowly(notes: list[FinishedCall], numbers: list[int]) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    before: list[FinishedCall] = []
    for place, number in enumerate([*numbers, -1]):
        now = [n for n in notes[::-1] if n[1] <= number < n[2]]
        found += [(n[0].after, 99 + 10 * place) for n in before[::-1] if n not in now]
        found += [(n[0].before, 99 + 10 * place) for n in now if n not in before]
        before = now
    return found


def test_a_second_backward_from_the_last_node_of_the_one_before_has_marks_of_its_own():
    rows = [*node_rows(0, 100), *node_rows(0, 120)]
    marks = find_backward_marks([ThreadCalls(10, [finished("a", 0, 1)])], [forward_row(), *rows])
    assert [(mark.name, mark.time) for mark in marks] == [
        ("a (X) before", 99),
        ("a (X) after", 109),
        ("a (X) before", 119),
        ("a (X) after", 129),
    ]


@pytest.mark.parametrize(("learns", "count"), [(True, 1), (False, 0)])
def test_a_call_that_makes_no_node_takes_no_memory(learns, count):
    thread = OpenCalls(RecordingState(by_profile=True))
    marks = CallMarks("forward", BackwardNames("before", "after"), thread)
    weight = torch.ones(1, requires_grad=learns)
    marks.begin()
    weight * 2  # makes a node where the weight learns
    marks.end()
    assert len(thread.finished) == count


def test_threads_that_shared_an_id_are_left_unmarked():
    notes = [ThreadCalls(10, [finished("a", 0, 1)])]
    other = Event(" (Net) forward ~hv1", 50, 51, logical=2)
    assert len(find_backward_marks(notes, [forward_row(), *node_rows(0, 100)])) == 2
    assert find_backward_marks(notes, [forward_row(), other, *node_rows(0, 100)]) == []


def test_a_backward_inside_a_forward_is_that_of_the_calls_that_ended(tmp_path):
    class Penalty(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Sequential(nn.Linear(4, 4), nn.Tanh())

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            output = self.net(x)
            (gradient,) = torch.autograd.grad(output.sum(), x, retain_graph=True)
            return output + gradient

    model = Penalty()
    trace = recorded(model, lambda: model(torch.ones(1, 4, requires_grad=True)))
    assert trace.paths("before backward") == {"net": 1, "net.0": 1, "net.1": 1}


def test_calls_before_another_model_is_wrapped_are_not_forgotten():
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh())

    def run() -> None:
        loss = model(torch.ones(1, 4)).sum()
        other = hookview.wrap(nn.Linear(4, 1), name="other")
        (loss + other(torch.ones(1, 4))).sum().backward()
        hookview.unwrap(other)

    trace = recorded(model, run)
    assert trace.paths("before backward") == {"": 1, "0": 1, "1": 1, "other": 1}


def test_a_users_own_mark_in_front_of_a_node_does_not_hide_its_number():
    def mark(_: object) -> None:
        with torch.profiler.record_function("mine"):
            pass

    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh())

    def run() -> None:
        output = model(torch.ones(1, 4))
        output.grad_fn.register_prehook(mark)
        output.sum().backward()

    trace = recorded(model, run)
    (node,) = [s for s in trace.spans if s.name.endswith("evaluate_function: TanhBackward0")]
    assert "Sequence number" not in node.args
    assert trace.paths("before backward") == {"": 1, "0": 1, "1": 1}


def recorded(model: nn.Module, run: Callable[[], object]) -> Trace:
    hookview.wrap(model)
    try:
        return record(run)
    finally:
        hookview.unwrap(model)


@pytest.mark.parametrize("name", ["mine.json", "mine.json.gz"])
def test_a_file_that_the_user_exports_has_the_marks_as_well(tmp_path, name):
    model = hookview.wrap(nn.Sequential(nn.Linear(4, 4), nn.Tanh()))
    with hookview.profile(
        tmp_path / "runs", on_trace_ready=lambda p: p.export_chrome_trace(str(tmp_path / name))
    ):
        model(torch.ones(1, 4)).sum().backward()
    hookview.unwrap(model)
    mine, ours = Trace(tmp_path / name), only_trace(tmp_path / "runs")
    assert mine.paths("before backward") == ours.paths("before backward") == {"": 1, "0": 1, "1": 1}
    assert mine.spans == ours.spans
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, "runs"])


@pytest.mark.usefixtures("expected_fault")
def test_a_fault_while_marking_leaves_the_file_whole(monkeypatch):
    def broken(*_: object) -> None:
        raise OSError("broken")

    monkeypatch.setattr("tb_hookview.recorder.profiling.find_backward_marks", broken)
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    with pytest.warns(RuntimeWarning, match="marking the backward pass"):
        trace = recorded(model, lambda: model(torch.ones(1, 4)).sum().backward())
    assert trace.paths("forward") == {"": 1, "0": 1, "1": 1}
    assert trace.paths("before backward") == {}


@pytest.mark.parametrize("base_ns", [0, 1_700_000_000_000_000_000])
def test_times_are_on_the_files_own_clock(base_ns):
    head = f'  "baseTimeNanoseconds": {base_ns},\n' if base_ns else ""
    event = '{"ph": "X", "name": "a", "ts": 1.5, "dur": 1}'
    source = io.BytesIO(f'{{\n{head}  "traceEvents": [\n{event}\n]}}'.encode())
    target = io.BytesIO()
    writing.copy(source, target, [Mark('b "c"', 1, 2, base_ns + 1_234_567)])
    rows = json.loads(target.getvalue())["traceEvents"]
    assert [(row["name"], row["ts"]) for row in rows] == [('b "c"', 1234.567), ("a", 1.5)]
