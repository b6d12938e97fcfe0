"""Blocks of a window: against the definition, item by item; and what must hold of them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_merging import Block, slow_blocks, touches
from support.loaded import loaded

from tb_hookview.timeline import Timeline
from tb_hookview.timeline.lanes.lane import MOST_ROWS, Colour, Lane, LaneItems
from tb_hookview.timeline.merging import DrawnBlocks, Window, blocks, resolution_of

times = st.integers(0, 400)
item = st.tuples(times, st.integers(0, 60) | st.just(300), st.integers(0, 2), st.integers(0, 7))
drawn = st.lists(item, max_size=60)
scales = st.sampled_from([1, 40, 1500])


def lane_of(raw: list[tuple[int, int, int, int]], scale: int) -> Lane:
    start, length, name, colour = np.array(raw, np.int64).reshape(-1, 4).T
    start = start * scale
    end = start + length * scale
    return Lane(LaneItems(start, end, name, colour.astype(np.uint8), np.arange(len(start))))


def listed(found: DrawnBlocks) -> list[Block]:
    columns = [getattr(found, field.name).tolist() for field in dataclasses.fields(found)]
    return [Block(*row) for row in zip(*columns, strict=True)]


@settings(max_examples=300)
@given(drawn, scales, times, st.integers(1, 400), st.integers(0, 14))
def test_blocks_are_those_of_the_definition(
    raw: list[tuple[int, int, int, int]], scale: int, start: int, length: int, level: int
) -> None:
    """And so nothing is dropped, and no wait is hidden."""
    lane = lane_of(raw, scale)
    window = Window(start * scale, (start + length) * scale, -7, 1 << level)
    found = listed(blocks(lane, window))
    assert found == slow_blocks(lane, window)
    held = [i for block in found for i in range(block.first, block.first + block.count)]
    assert held == [i for i in range(len(lane)) if touches(lane, i, window)]
    for block in found:
        inside = lane.colour[block.first : block.first + block.count].tolist()
        if Colour.WAIT in inside:
            assert block.colour == Colour.WAIT
        assert block.colour in inside


@given(drawn, st.integers(1, 400), st.integers(1, 50))
def test_an_answer_has_at_most_a_few_blocks_a_pixel(
    raw: list[tuple[int, int, int, int]], length: int, width: int
) -> None:
    lane = lane_of(raw, 1500)
    span = length * 1500
    resolution = resolution_of(span, width)
    assert resolution <= max(span / width, 1) < 2 * resolution
    found = blocks(lane, Window(0, span, 0, resolution))
    # Two for each of the cells of a pixel, of which it has two, and those that reach in.
    assert len(found.start) <= lane.rows * (2 * (2 * width + 2) + 1)


def test_a_block_has_the_colour_that_takes_most_time() -> None:
    lane = lane_of([(0, 1, 0, 0), (2, 3, 0, 1), (5, 1, 0, 0)], 1)
    (block,) = listed(blocks(lane, Window(0, 64, 0, 64)))
    assert (block.colour, block.count, block.name) == (Colour.BACKWARD, 3, 0)


def test_a_wait_that_is_the_last_of_a_block_colours_it() -> None:
    lane = lane_of([(0, 2, 0, Colour.FORWARD), (3, 2, 0, Colour.WAIT)], 1)
    (block,) = listed(blocks(lane, Window(0, 64, 0, 64)))
    assert (block.colour, block.count) == (Colour.WAIT, 2)


def test_an_item_as_long_as_a_pixel_is_drawn_by_itself() -> None:
    lane = lane_of([(0, 1, 0, 0), (2, 8, 1, 0), (11, 1, 2, 0)], 1)
    found = listed(blocks(lane, Window(0, 64, 0, 8)))
    assert [(block.count, block.name) for block in found] == [(1, 0), (1, 1), (1, 2)]


@pytest.mark.parametrize(("pause", "counts"), [(3, [2]), (4, [1, 1])])
def test_neighbours_are_apart_from_the_resolution_on(pause: int, counts: list[int]) -> None:
    lane = lane_of([(0, 1, 0, 0), (1 + pause, 1, 0, 0)], 1)
    found = listed(blocks(lane, Window(0, 64, 0, 4)))
    assert [block.count for block in found] == counts


def test_neighbours_of_one_colour_are_one_block_and_a_wait_parts_them() -> None:
    raw = [(4 * i, 2, 0, Colour.WAIT if i == 50 else 0) for i in range(100)]
    found = listed(blocks(lane_of(raw, 1), Window(0, 400, 0, 4)))
    assert [(block.count, block.colour) for block in found] == [
        (50, Colour.FORWARD),
        (1, Colour.WAIT),
        (49, Colour.FORWARD),
    ]


@pytest.mark.parametrize("shift", [0, 3, 17, 64])
def test_blocks_stay_as_they_are_while_the_window_moves(shift: int) -> None:
    raw = [(3 * i, 1 + i % 3, 0, i % 2) for i in range(100)]
    lane = lane_of(raw, 1)

    def middle(first: int) -> list[Block]:
        found = listed(blocks(lane, Window(first, first + 250, 0, 8)))
        return [block for block in found if block.start > 80 and block.end < 240]

    assert middle(shift) == middle(0) != []


def test_the_resolution_is_a_power_of_two_of_at_most_a_pixel() -> None:
    lengths = (0, 9, 10, 19, 20, 39, 40, 10_000)
    assert [resolution_of(length, 10) for length in lengths] == [1, 1, 1, 1, 2, 2, 4, 512]


def test_blocks_of_one_row() -> None:
    lane = lane_of([(0, 90, 0, 0), (10, 20, 1, 0), (40, 20, 2, 1)], 1)
    found = blocks(lane, Window(0, 100, 0, 1))
    assert [(block.depth, block.name) for block in listed(found)] == [(0, 0), (1, 1), (1, 2)]
    assert listed(found.of_row(1)) == listed(found)[1:]
    assert listed(found.of_row(0)) == listed(found)[:1]
    assert listed(found.of_row(2)) == []


def test_blocks_of_neighbouring_rows_are_apart() -> None:
    lane = lane_of([(0, 2, 0, 0), (1, 1, 0, 0)], 1)
    assert [block.depth for block in listed(blocks(lane, Window(0, 64, 0, 64)))] == [0, 1]


def test_an_empty_lane_has_no_blocks() -> None:
    assert listed(blocks(lane_of([], 1), Window(0, 10, 0, 1))) == []


def test_of_more_rows_than_there_may_be_nothing_is_dropped() -> None:
    many = 2 * MOST_ROWS
    lane = lane_of([(i, 4 * many - 2 * i, 0, 0) for i in range(many)], 5000)
    assert lane.rows == MOST_ROWS
    assert blocks(lane, Window(0, many * 5000, 0, 1)).count.sum() == many


def test_counts_of_a_real_trace_are_those_of_its_events() -> None:
    timeline = Timeline(loaded("tracelens_mi300_resnet_checkpointing_ddp"))
    length = timeline.analysis.bounds[1] - timeline.origin
    for part in (1, 7, 300, 20_000):
        for start in np.linspace(-length / 9, length, 5).astype(np.int64).tolist():
            window = timeline.window(start, start + length // part, 1400)
            for number, entry in enumerate(timeline.entries):
                if entry.items:
                    lane = timeline.lane(number)
                    until = np.maximum(lane.end, lane.start + 1)
                    expected = (lane.start < window.end) & (until > window.start)
                    assert blocks(lane, window).count.sum() == expected.sum()
