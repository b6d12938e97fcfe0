"""What an analysis holds in memory, against what is known of it."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from shared_traces import shared_trace

from tb_hookview.loading.cached import load
from tb_hookview.report.build import build_report
from tb_hookview.server.held import Held
from tb_hookview.timeline import Timeline, wire


class Anything:
    def __init__(self, **parts: object) -> None:
        self.__dict__.update(parts)


Anything.__module__ = "tb_hookview.anything"


@pytest.fixture
def trace() -> Path:
    return shared_trace("hta_sampled_rank-0")


@contextmanager
def traced_memory() -> Iterator[Callable[[], int]]:
    """Yield a function for the bytes allocated since and still in use."""

    def allocated() -> int:
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before

    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    try:
        yield allocated
    finally:
        tracemalloc.stop()


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


def test_it_is_what_the_allocator_counts(trace: Path) -> None:
    """With all that is made of an analysis; tables that the process fills once are not its own."""
    load(trace)
    with traced_memory() as allocated:
        analysis = load(trace)
        build_report(analysis)
        assert Held().bytes(analysis) == pytest.approx(allocated(), rel=0.1)
        timeline = Timeline(analysis)
        wire.overview(timeline)
        assert Held().bytes(analysis, timeline) == pytest.approx(allocated(), rel=0.1)
