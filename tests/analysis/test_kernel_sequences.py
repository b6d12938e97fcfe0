"""Sequences of kernels that could be fused, against a slow obvious version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grid
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from shared_traces import shared_trace

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.operators import SHORT, cut, find_sequences, fusable
from tb_hookview.loading import load

Run = tuple[Any, ...]

runs = st.one_of(
    st.lists(st.integers(0, 2), max_size=60),
    st.tuples(
        st.lists(st.integers(0, 3), max_size=5),
        st.lists(st.integers(0, 3), min_size=1, max_size=20),
        st.integers(1, 6),
        st.lists(st.integers(0, 3), max_size=5),
    ).map(lambda parts: parts[0] + parts[1] * parts[2] + parts[3]),
).map(tuple)


def slow_cut(run: Run) -> list[tuple[int, int]]:
    """Sequences of a run, each repeat counted by comparing what follows."""
    if len(run) <= SHORT:
        return [(0, len(run))]
    found, since, place = [], 0, 0
    while place < len(run):
        best = (0, 0)
        for period in range(2, SHORT + 1):
            piece, times = run[place : place + period], 1
            while run[place + times * period : place + (times + 1) * period] == piece:
                times += 1
            if times > 1 and len(piece) == period and times * period > best[0] * best[1]:
                best = (period, times)
        period, times = best
        if not times:
            place += 1
            continue
        found += [(since, place)] if place - since > 1 else []
        found += [(place + k * period, place + (k + 1) * period) for k in range(times)]
        since = place = place + times * period
    return found + ([(since, place)] if place - since > 1 else [])


@example((0,) * 17)
@example((0, 1, 2) * 6)
@example((9, *(0, 1, 2) * 6, 0, 9))
@given(runs)
def test_a_run_is_cut_as_by_comparing_what_follows(run: Run) -> None:
    if len(run) > 1:
        assert list(cut(run)) == slow_cut(run)


def test_a_loop_is_cut_into_its_turns() -> None:
    loop = tuple("abc") * 10
    assert list(cut((*"xy", *loop, "z"))) == [(0, 2), *((2 + 3 * k, 5 + 3 * k) for k in range(10))]


NAMES = {
    "a": "elementwise_add",
    "m": "elementwise_mul",
    "g": "volta_sgemm_64x64",
    "t": "triton_poi",
}


Occurrences = dict[Run, set[Run]]
"""Kernels of each occurrence, by the names of its sequence."""


def slow_sequences(analysis: Analysis) -> Occurrences:
    """Each stream's kernels looked at one after the other."""
    work, can = analysis.device_events, fusable(analysis).tolist()
    start, event = work.start.tolist(), work.event.tolist()
    device, stream_of = work.device.tolist(), work.stream.tolist()
    step, launched = analysis.device_event_step.tolist(), analysis.phases.row[work.launch].tolist()
    streams: dict[Any, list[int]] = {}
    for number in sorted(range(len(work)), key=lambda d: (start[d], event[d])):
        streams.setdefault((device[number], stream_of[number]), []).append(number)
    found: list[list[int]] = [[]]
    for stream in streams.values():
        before = None
        for number in stream:
            place = (step[number], launched[number]) if can[number] else None
            if place is None or place != before:
                found.append([])
            found[-1] += [number] if place else []
            before = place
    result: Occurrences = {}
    for run in found:
        called = names(run, analysis)
        for begin, end in slow_cut(called) if len(run) > 1 else ():
            result.setdefault(called[begin:end], set()).add(tuple(run[begin:end]))
    return {content: pieces for content, pieces in result.items() if len(pieces) > 1}


def names(kernels: list[int], analysis: Analysis) -> Run:
    return tuple(analysis.trace.events.name[analysis.device_events.event[kernels]].tolist())


def found_sequences(analysis: Analysis) -> Occurrences:
    found = find_sequences(analysis, np.ones(len(analysis.device_events), bool))
    pieces_of: dict[int, list[int]] = {}
    for number, kernel in zip(found.occurrence.tolist(), found.kernel.tolist(), strict=True):
        pieces_of.setdefault(number, []).append(kernel)
    by_number: dict[int, Occurrences] = {}
    for number, sequence in enumerate(found.sequence.tolist()):
        piece = pieces_of[number]
        content = by_number.setdefault(sequence, {})
        content.setdefault(names(piece, analysis), set()).add(tuple(piece))
    assert list(by_number) == list(range(len(by_number))), "numbered by their first occurrences"
    merged = {key: pieces for content in by_number.values() for key, pieces in content.items()}
    assert len(merged) == len(by_number), "one number for the same names, and for no others"
    return merged


@given(st.lists(st.tuples(st.sampled_from("aaammgt"), st.sampled_from([7, 7, 7, 20])), max_size=40))
def test_sequences_are_those_of_streams_looked_at_one_after_the_other(
    tmp_path_factory: pytest.TempPathFactory, kernels: list[tuple[str, int]]
) -> None:
    path = tmp_path_factory.mktemp("drawn") / "t.json"
    analysis = load(grid.write(path, trace(kernels)))
    assert found_sequences(analysis) == slow_sequences(analysis)


def trace(kernels: list[tuple[str, int]]) -> list[dict[str, Any]]:
    """Kernels one after the other, in steps of ten, by name and stream."""
    events = []
    for number, (name, stream) in enumerate(kernels):
        corr = {"correlation": number + 1}
        call = {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 77, "tid": 1}
        run = {"cat": "kernel", "name": NAMES[name], "pid": 0, "tid": stream}
        events.append({"ph": "X", **call, "ts": 10 * number, "dur": 2, "args": corr})
        on_stream = {**corr, "stream": stream, "device": 0}
        events.append({"ph": "X", **run, "ts": 10 * number + 5, "dur": 3, "args": on_stream})
    for step in range(0, len(kernels), 10):
        mark = {"cat": "user_annotation", "name": f"ProfilerStep#{step // 10}", "pid": 77, "tid": 1}
        events.append({"ph": "X", **mark, "ts": 10 * step, "dur": 99, "args": {}})
    return events


@pytest.mark.parametrize(
    "name",
    [
        "hta_sampled_rank-0",
        pytest.param("hta_v100_training", marks=pytest.mark.slow),
        pytest.param("tracelens_mi300_sd35_with_stacks", marks=pytest.mark.slow),
    ],
)
def test_sequences_of_recorded_traces(name: str) -> None:
    analysis = load(shared_trace(name))
    found = found_sequences(analysis)
    assert found == slow_sequences(analysis)
    assert max(map(len, found)) > 2


def test_a_trace_without_a_device_has_none(tmp_path: Path) -> None:
    analysis = load(grid.write(tmp_path / "t.json", grid.events("main ops [aten::add   ]")))
    assert not len(find_sequences(analysis, np.zeros(0, bool)).kernel)
