"""Growth of the analyzer's steps with a trace: by columns, never event by event.

A real trace is put after itself several times, each time later and with other identities. Python's
own lines are counted, for a loop over events is a loop over lines, whatever time it takes; what
grows with reason is what the report lists one by one.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
import pytest
from msgspec import structs
from shared_traces import shared_trace
from support.inflated import write_training_trace

import tb_hookview.analysis
from tb_hookview.analysis.analysis import analyze_trace
from tb_hookview.report.build import build_report
from tb_hookview.report.result import Report
from tb_hookview.trace import EventCategory, StringTable, Trace, read_trace

COPIES = 2
LINES_PER_ROW = 60
"""Lines for each step and wait, of which the report has a row each."""
LINES_AT_ALL = 4000
"""Lines that may be more for other reasons: a depth more, a rule that holds with enough steps."""
BYTES_PER_EVENT = 500
"""Held at once at most for each event added, besides the columns of the trace."""

_FOLDER = str(Path(tb_hookview.analysis.__file__).parent)
_NUMBERED = ("correlation", "external", "sequence")


class Pair(NamedTuple):
    """A trace, and the same several times over."""

    short: Trace
    long: Trace


@pytest.fixture(
    scope="module",
    params=[
        "made",
        "deepseek_h800_dualpipe_training",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in (
                "tracelens_b200_eager",
                "tracelens_mi300_resnet_checkpointing_ddp",
                "tracelens_h100_qwen",
                "hta_a100_nccl_training",
                "hta_mtia_inference",
            )
        ),
    ],
)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    if request.param == "made":
        path = tmp_path_factory.mktemp("traces") / "trace.json"
        write_training_trace(path, steps=10)
    else:
        path = shared_trace(request.param)
    trace = read_trace(path)
    return Pair(trace, repeated(trace, COPIES))


def test_no_line_is_run_for_each_event(pair: Pair) -> None:
    _report(pair.short)  # names are remembered from one trace to the next
    (short, first), (long, second) = (_lines(lambda t=t: _report(t)) for t in pair)
    rows = [len(report.data.syncs) + len(report.data.steps) for report in (first, second)]
    assert long - short < LINES_PER_ROW * (rows[1] - rows[0]) + LINES_AT_ALL


def test_memory_is_that_of_columns(pair: Pair) -> None:
    short, long = (_peak(trace) for trace in pair)
    added = len(pair.long.events) - len(pair.short.events)
    assert (long - short) / added < BYTES_PER_EVENT


def test_what_the_report_sums_is_that_many_times_as_much(pair: Pair) -> None:
    short, long = (_report(trace).data for trace in pair)
    assert len(long.modules) == len(short.modules)
    assert sum(kernel.count for kernel in long.kernels) == COPIES * sum(
        kernel.count for kernel in short.kernels
    )


def test_lines_of_loops_and_comprehensions_are_counted() -> None:
    program = (
        "def work(n):\n    total = 0\n    for i in range(n):\n        total += i\n"
        "    return total + len([i for i in range(n)])\n"
    )
    place: dict[str, Any] = {}
    exec(compile(program, f"{_FOLDER}/made_up.py", "exec"), place)
    assert _lines(lambda: place["work"](1000))[0] >= 3000


def repeated(trace: Trace, copies: int) -> Trace:
    """A trace several times over, one after the other."""
    events, flows = trace.events, trace.flows
    first, last = int(events.start.min()), int(events.end.max())
    length, count = last - first + 1_000_000, len(events)
    stride = 1 + max(int(getattr(events, name).max()) for name in _NUMBERED)
    texts, names = _step_names(trace, copies)

    def tiled(column: np.ndarray, shift: int = 0, *, among: bool = False) -> np.ndarray:
        added = np.repeat(np.arange(copies) * shift, len(column)).astype(column.dtype)
        whole = np.tile(column, copies)
        return np.where(whole > 0, whole + added, whole) if among else whole + added

    columns = {f.name: tiled(getattr(events, f.name)) for f in structs.fields(events)}
    columns |= {name: tiled(getattr(events, name), stride, among=True) for name in _NUMBERED}
    columns |= {"start": tiled(events.start, length), "name": names}
    arrows = {f.name: tiled(getattr(flows, f.name)) for f in structs.fields(flows)}
    arrows |= {name: tiled(getattr(flows, name), length) for name in ("from_time", "to_time")}
    calls = trace.collectives
    changed = {
        f.name: getattr(calls, f.name) * copies
        if isinstance(getattr(calls, f.name), tuple)
        else tiled(getattr(calls, f.name), count if f.name == "event" else 0)
        for f in structs.fields(calls)
    }
    taken = {f.name: tiled(getattr(trace.memory, f.name)) for f in structs.fields(trace.memory)}
    return structs.replace(
        trace,
        event_count=trace.event_count * copies,
        strings=StringTable(texts),
        events=structs.replace(events, **columns),
        flows=structs.replace(flows, **arrows),
        memory=structs.replace(trace.memory, **{**taken, "time": tiled(trace.memory.time, length)}),
        collectives=structs.replace(calls, **changed),
    )


def _step_names(trace: Trace, copies: int) -> tuple[tuple[str, ...], np.ndarray]:
    """Strings, and the name of each event of all copies: each has steps of its own."""
    texts, columns = list(trace.strings.texts), []
    for copy in range(copies):
        name = trace.events.name.copy()
        for string, text in enumerate(trace.strings.texts):
            if copy and text.startswith("ProfilerStep#"):
                wanted = (name == string) & (trace.events.kind != EventCategory.DEVICE_ANNOTATION)
                name[wanted] = len(texts)
                texts.append(f"ProfilerStep#{1000 * copy + int(text.partition('#')[2])}")
        columns.append(name)
    return tuple(texts), np.concatenate(columns)


def _report(trace: Trace) -> Report:
    return build_report(analyze_trace(trace))


def _lines(work: Callable[[], Any]) -> tuple[int, Any]:
    """Lines of the analyzer that are run while something works, and what it returns."""
    count = 0

    def of_ours(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return of_ours

    def note(frame: FrameType, _event: str, _argument: object) -> Any:
        return of_ours if frame.f_code.co_filename.startswith(_FOLDER) else None

    before = sys.gettrace()
    sys.settrace(note)
    try:
        result = work()
    finally:
        sys.settrace(before)
    return count, result


def _peak(trace: Trace) -> int:
    """Most bytes held at once while a trace is analyzed, also where no garbage is collected."""
    gc.disable()
    tracemalloc.start()
    try:
        _report(trace)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        gc.enable()
