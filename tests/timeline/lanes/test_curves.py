"""A curve thinned out to pixels: drawn with lines it looks as all of it does."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from tb_hookview.timeline.lanes.trace_lanes import Curve

steps = st.lists(st.tuples(st.integers(0, 300), st.integers(-3, 3)), max_size=80)


def made(raw: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Times in order, and the running sum: the last of those at one moment counts."""
    ordered = sorted(raw, key=lambda step: step[0])
    value, values = 0, {}
    for time, change in ordered:
        value += change
        values[time] = value
    return list(values), list(values.values())


def thinned(
    raw: list[tuple[int, int]], start: int, end: int, resolution: int
) -> tuple[list[int], list[int]]:
    ordered = sorted(raw, key=lambda step: step[0])
    time = np.array([step[0] for step in ordered], np.int64)
    value = np.cumsum(np.array([step[1] for step in ordered], np.int64))
    found = Curve(time, value, -5).within(start, end, resolution)
    return found[0].tolist(), found[1].tolist()


@example([(155, 0), (156, 0), (157, -1), (158, 2), (159, 0)], 0, 163, 3)
@given(steps, st.integers(0, 300), st.integers(1, 300), st.integers(0, 9))
def test_each_pixel_keeps_its_first_last_least_and_greatest(
    raw: list[tuple[int, int]], start: int, length: int, level: int
) -> None:
    times, values = made(raw)
    end, resolution = start + length, 1 << level
    time, value = thinned(raw, start, end, resolution)
    points = dict(zip(time, value, strict=True))
    assert time == sorted(points)
    assert points.items() <= dict(zip(times, values, strict=True)).items()
    cells: dict[int, list[int]] = {}
    for moment in times:
        if start <= moment < end:
            cells.setdefault((moment + 5) // resolution, []).append(moment)
    everything = dict(zip(times, values, strict=True))
    whole = {c: m for c, m in cells.items() if c * resolution - 5 >= start}
    for moments in (m for c, m in whole.items() if (c + 1) * resolution - 5 <= end):
        shown = [everything[moment] for moment in moments]
        drawn = [points[moment] for moment in moments if moment in points]
        assert (drawn[0], drawn[-1]) == (shown[0], shown[-1])
        assert (min(drawn), max(drawn)) == (min(shown), max(shown))
        assert len(drawn) <= 4


@given(steps, st.integers(0, 300))
def test_the_value_at_the_start_comes_first(raw: list[tuple[int, int]], start: int) -> None:
    times, values = made(raw)
    before = [value for time, value in zip(times, values, strict=True) if time <= start]
    _, value = thinned(raw, start, start + 50, 1)
    if before:
        assert value[0] == before[-1]


def test_nothing_has_no_curve() -> None:
    assert thinned([], 0, 10, 4) == ([], [])
