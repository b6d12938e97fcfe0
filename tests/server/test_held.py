"""What an analysis holds in memory, against what is known of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from shared_traces import shared_trace

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.loading.cached import load
from tb_hookview.report.build import build_report
from tb_hookview.server.held import Held
from tb_hookview.timeline import Timeline, wire


class Anything:
    def __init__(self, **parts: object) -> None:
        self.__dict__.update(parts)


Anything.__module__ = "tb_hookview.anything"


@pytest.fixture
def analysis() -> Analysis:
    return load(shared_trace("hta_sampled_rank-0"))


def test_arrays_count_with_all_their_memory_once() -> None:
    whole = np.zeros(1000, np.int64)
    assert Held().bytes(whole, whole[:10], whole.reshape(10, 100)) == 8000
    assert Held().bytes(Anything(column=whole, again={"row": [whole]})) == pytest.approx(
        8000, abs=300
    )


def test_columns_of_one_piece_of_memory_count_once() -> None:
    piece = memoryview(bytes(8000))
    halves = [np.frombuffer(piece, np.int8, 4000, place) for place in (0, 4000)]
    assert Held().bytes(*halves) == pytest.approx(8000, abs=100)


def test_texts_count_and_what_is_not_ours_does_not() -> None:
    texts = ["x" * 1000 for _ in range(1000)]
    assert 1_000_000 < Held().bytes(tuple(texts)) < 1_100_000
    assert Held().bytes(Path("somewhere"), object(), None, 7) == 0


def test_texts_that_came_later_are_counted_too() -> None:
    held, pieces = Held(), [b"x" * 1000 for _ in range(300)]
    before = held.bytes(pieces)
    pieces += [b"x" * 1000 for _ in range(100)]
    assert held.bytes(pieces) - before > 100_000


def test_an_analysis_holds_its_columns_at_least(analysis: Analysis) -> None:
    events = analysis.trace.events
    columns = [getattr(events, name) for name in type(events).__annotations__]
    floor = sum(column.nbytes for column in columns)
    assert floor < Held().bytes(analysis) < 12 * floor


def test_what_is_made_of_it_adds_to_it(analysis: Analysis) -> None:
    held = Held()
    build_report(analysis)
    before = held.bytes(analysis)
    timeline = Timeline(analysis)
    wire.overview(timeline)
    lanes = held.bytes(analysis, timeline) - before
    shown = sum(len(timeline.lane(n)) for n, entry in enumerate(timeline.entries) if entry.items)
    assert shown * 40 < lanes < shown * 400
