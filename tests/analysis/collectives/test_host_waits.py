"""When the training thread waits for a collective that the host runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tb_hookview import analyze

MAIN, GLOO = 1, 2


def waits_of(tmp_path: Path, rows: list[tuple[str, str, int, float, float]]) -> float:
    events: list[dict[str, Any]] = []
    for name, category, thread, start, end in rows:
        times = {"ts": start * 1000, "dur": (end - start) * 1000}
        place = {"pid": 1, "tid": thread}
        events.append({"ph": "X", "cat": category, "name": name, **place, **times, "args": {}})
    path = tmp_path / "t.pt.trace.json"
    path.write_text(json.dumps({"traceEvents": events}))
    (step,) = analyze(path).steps
    assert step.communication_wait_us is not None
    assert step.other_us + step.backward_us + (step.forward_us or 0) == pytest.approx(
        step.duration_us
    )
    return step.communication_wait_us / 1000


STEP = ("ProfilerStep#1", "user_annotation", MAIN, 0, 100)
CALL = ("c10d::allreduce_", "cpu_op", MAIN, 10, 12)
AFTER = ("aten::add", "cpu_op", MAIN, 62, 90)
RUN = ("gloo:all_reduce", "user_annotation", GLOO, 11, 60)


@pytest.mark.parametrize(
    ("rows", "waits"),
    [
        #     main  [call]..............[add]
        #     gloo   [all_reduce        ]
        ([CALL, RUN, AFTER], 48),
        #     main  [call][mul ]........[add]
        ([CALL, RUN, ("aten::mul", "cpu_op", MAIN, 12, 40), AFTER], 20),
        #     main  [call][mul            ][add]      never waits
        ([CALL, RUN, ("aten::mul", "cpu_op", MAIN, 12, 61), AFTER], 0),
        #     main  [call].......................     goes on 45 after the end: waits for something else
        ([CALL, ("gloo:all_reduce", "user_annotation", GLOO, 11, 30), AFTER], 0),
        #     main  [recv][gloo:recv     ][add]       on the thread itself
        ([("c10d::recv_", "cpu_op", MAIN, 10, 11), ("gloo:recv", "user_annotation", MAIN, 11, 60), AFTER], 49),
        #     main  [gloo:recv           ][add]       in torch 1.11 an operator, and no call around it
        ([("gloo:recv", "cpu_op", MAIN, 11, 60), AFTER], 49),
        #     main  [shm_allreduce      ][add]        in shared memory an operator that blocks
        ([("_C::shm_allreduce", "cpu_op", MAIN, 11, 60), AFTER], 49),
        #     main  [call]..............[add]         two at a time count once
        ([CALL, RUN, ("gloo:all_reduce", "user_annotation", 3, 20, 61), AFTER], 49),
        #     main  [call].............[add]          woken before the row ends: until it goes on
        ([CALL, ("gloo:all_reduce", "user_annotation", GLOO, 11, 64), AFTER], 50),
        #     main  [call]...[add].[add]              the hole that is nearest to the end is Python's
        ([CALL, ("gloo:all_reduce", "user_annotation", GLOO, 11, 63), ("aten::mul", "cpu_op", MAIN, 61, 61.5), AFTER], 49),
        #     main  [call]...[mul].[mul].[...         the next step begins before the row ends
        ([CALL, ("gloo:all_reduce", "user_annotation", GLOO, 11, 64), *[("aten::mul", "cpu_op", MAIN, 61 + each / 5, 61.05 + each / 5) for each in range(10)]], 49),
        #     main  [call]....[add        ]           goes on long before the end
        ([CALL, ("gloo:all_reduce", "user_annotation", GLOO, 11, 75), AFTER], 0),
        ([CALL, AFTER], 0),
    ],
    ids=["a hole", "work before", "work meanwhile", "goes on later", "own thread", "an operator", "shared memory", "two", "woken", "woken, then Python", "woken, then a step", "long before", "none"],
)  # fmt: skip
def test_a_thread_waits_in_a_hole_that_ends_with_a_collective(
    tmp_path: Path, rows: list[tuple[str, str, int, float, float]], waits: float
) -> None:
    assert waits_of(tmp_path, [STEP, *rows]) == pytest.approx(waits)


def test_without_steps_and_calls_the_thread_that_receives_and_computes_waits(
    tmp_path: Path,
) -> None:
    #     main  [add][gloo:recv          ][add]
    #     gloo  [gloo:all_reduce         ]
    before, receives = ("aten::add", "cpu_op", MAIN, 0, 11), ("gloo:recv", "cpu_op", MAIN, 11, 60)
    assert waits_of(tmp_path, [before, receives, RUN, AFTER]) == pytest.approx(49)
    report = analyze(tmp_path / "t.pt.trace.json")
    assert report.verdict.bound == "communication"
    assert report.verdict.communication_us == pytest.approx(49_000)


SENT = [("c10d::send", "cpu_op", MAIN, 10, 11), ("gloo:send", "user_annotation", GLOO, 11, 60)]
FORWARD = ("a (Linear) forward ~hv1", "cpu_op", MAIN, 20, 61)


@pytest.mark.parametrize(
    ("rows", "waits"),
    [
        #     main  [send][forward of a    ]     sleeps in Python: not for a message that was sent
        #     gloo  [send              ]
        ([*SENT, FORWARD], 0),
        #     main  [call][forward of a    ]     FSDP waits for what it called before
        ([CALL, RUN, FORWARD], 40),
        #     main  [forward of a [send] ..]     the module itself sends, and waits for it
        ([*SENT, ("a (Linear) forward ~hv1", "cpu_op", MAIN, 9, 61)], 49),
    ],
    ids=["a message", "a collective", "a message of the module's"],
)
def test_in_a_module_a_thread_waits_for_what_it_calls_itself(
    tmp_path: Path, rows: list[tuple[str, str, int, float, float]], waits: float
) -> None:
    assert waits_of(tmp_path, [STEP, *rows, AFTER]) == pytest.approx(waits)


def test_the_gradient_buckets_of_a_backward(tmp_path: Path) -> None:
    node = "autograd::engine::evaluate_function: AddBackward0"
    rows = [STEP, (node, "cpu_op", MAIN, 5, 20), CALL, RUN, AFTER]
    #     main  [node [call]   ]............[add]
    assert waits_of(tmp_path, rows) == pytest.approx(40)
