"""Events by a text in their names: all are counted, the first are listed."""

from __future__ import annotations

from pathlib import Path

import pytest
from drawn import timeline_of
from support.loaded import loaded

from tb_hookview.schema.timeline import SearchResult
from tb_hookview.timeline import Timeline
from tb_hookview.timeline.statistics.statistics import MOST_HITS, Question, search


@pytest.fixture
def training(tmp_path: Path) -> Timeline:
    return timeline_of(tmp_path)


def ask(
    timeline: Timeline, text: str, start: int | None = None, end: int | None = None, width: int = 4
) -> Question:
    return Question(text, range(len(timeline.entries)), start, end, width)


def test_a_name_is_found_in_upper_and_lower_case_on_every_lane(training: Timeline) -> None:
    found = search(training, ask(training, "RELU"))
    names = [(hit.name, hit.start) for hit in found.hits]
    assert names == [
        ("relu", 19),
        ("relu (ReLU) forward ~hv1", 19),
        ("aten::relu", 20),
        ("relu", 36),
        ("autograd::engine::evaluate_function: ReluBackward0", 36),
        ("relu_kernel", 43),
    ]
    assert found.total == 6
    assert found.density == [0, 3, 3, 0]


def test_a_window_and_lanes_narrow_it(training: Timeline) -> None:
    found = search(training, ask(training, "relu", 22_000, 40_000, 2))
    assert [hit.start for hit in found.hits] == [19, 19, 20, 36, 36]
    assert found.density == [3, 2]
    device = training.lanes_of("device")
    (hit,) = search(training, Question("relu", device, None, None, 3)).hits
    assert (hit.name, hit.lane) == ("relu_kernel", str(device[0]))


def test_what_is_nowhere_is_not_found(training: Timeline) -> None:
    nothing = SearchResult(total=0, hits=[], density=[0, 0, 0, 0])
    assert search(training, ask(training, "no such name")) == nothing


def test_all_hits_are_counted_and_the_first_listed() -> None:
    timeline = Timeline(loaded("tracelens_b200_eager"))
    found = search(timeline, ask(timeline, "a", width=1400))
    expected = sorted(
        start
        for number, entry in enumerate(timeline.entries)
        if entry.items and not entry.late
        for start, name in zip(
            timeline.lane(number).start.tolist(), timeline.lane(number).name.tolist(), strict=True
        )
        if "a" in timeline.names.texts[name].lower()
    )
    assert found.total == sum(found.density) == len(expected) > MOST_HITS
    starts = [(start - timeline.origin) / 1000 for start in expected[:MOST_HITS]]
    assert [hit.start for hit in found.hits] == starts
