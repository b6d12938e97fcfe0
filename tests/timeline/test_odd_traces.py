"""Whatever a file holds, every question has an answer that JSON can carry."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_hookview.loading import load
from tb_hookview.timeline import Timeline
from tb_hookview.timeline import timeline as wire
from tb_hookview.timeline.event.detail import detail
from tb_hookview.timeline.statistics.statistics import Question, search, statistics

CATEGORIES = (
    "cpu_op",
    "user_annotation",
    "python_function",
    "cuda_runtime",
    "kernel",
    "gpu_memcpy",
    "gpu_user_annotation",
    "overhead",
    "Trace",
    "who knows",
)
NAMES = (
    "aten::mm",
    "",
    "<img src=x onerror=alert(1)>",
    "\u202egnirts\u202c",
    "ProfilerStep#1",
    "ProfilerStep#99999999999999999999",
    "nn.Module: Linear_0",
    "fc (Linear) forward ~hv1",
    "autograd::engine::evaluate_function: MmBackward0",
    "cudaStreamSynchronize",
    "Optimizer.step#SGD.step",
    "x" * 3000,
)
times = st.integers(0, 50) | st.sampled_from([-5, 1e-3, 7.5, 4e15, 1e18, -4e15])
events = st.lists(
    st.fixed_dictionaries(
        {
            "ph": st.just("X"),
            "cat": st.sampled_from(CATEGORIES),
            "name": st.sampled_from(NAMES),
            "pid": st.sampled_from([0, 1, "0", "Spans"]),
            "tid": st.sampled_from([1, 2, "stream 7"]),
            "ts": times,
            "dur": times,
            "args": st.fixed_dictionaries(
                {},
                optional={
                    "correlation": st.integers(0, 3),
                    "Sequence number": st.integers(0, 3),
                    "Fwd thread id": st.integers(0, 2),
                    "stack": st.just([1, {"a": "\u202e"}]),
                },
            ),
        }
    ),
    max_size=14,
)


@settings(max_examples=40)
@given(events)
def test_every_question_has_an_answer(
    tmp_path_factory: pytest.TempPathFactory, traced: list[dict[str, Any]]
) -> None:
    path = tmp_path_factory.mktemp("odd") / "t.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": traced}))
    timeline = Timeline(load(path))
    every = range(len(timeline.entries))
    answers: list[Any] = [wire.overview(timeline)]
    for start, end in ((0, 50_000), (7, 8), (-(10**16), 10**16)):
        answers.append(wire.window(timeline, every, start, end, 300))
        answers.append(statistics(timeline, start, end))
        answers.append(search(timeline, Question("a", every, start, end, 16_384)))
    answers.append(search(timeline, Question("\u0130", every, None, None, 1)))
    for number in every:
        if timeline.entries[number].items:
            lane = timeline.lane(number)
            ids = timeline.ids(number, np.arange(len(lane))).tolist()
            answers += [detail(timeline, event) for event in ids]
    for answer in answers:
        again = msgspec.json.decode(msgspec.json.encode(answer))
        assert None not in _numbers(again)


def _numbers(answer: Any) -> list[Any]:
    """Every value of the lists of numbers in an answer."""
    if isinstance(answer, dict):
        return [value for inner in answer.values() for value in _numbers(inner)]
    if isinstance(answer, list):
        return [v for inner in answer for v in (_numbers(inner) or [inner])]
    return []


def test_an_empty_trace_has_a_timeline(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text('{"traceEvents": []}')
    timeline = Timeline(load(path))
    assert wire.overview(timeline).duration_us == 0
    assert statistics(timeline, 0, 1).devices == []
    assert search(timeline, Question("a", [0], None, None, 3)).total == 1
