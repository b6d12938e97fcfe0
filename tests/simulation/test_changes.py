"""What changes leave of the host's time, against a sum over every nanosecond."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_hookview.arrays import intervals
from tb_hookview.simulation.changes import HostChange, kept_share

BEGAN = 1_700_000_000_000_000_000
"""Nanoseconds of a trace's clock: more than a float holds to the nanosecond."""


@st.composite
def changes(draw: st.DrawFn) -> HostChange:
    factor = draw(st.sampled_from([0.0, 0.5, 1.0, 3.0]))
    thread = draw(st.sampled_from([-1, 0, 1]))
    if draw(st.booleans()) and thread < 0:
        return HostChange(thread, None, factor)
    bounds = np.sort(draw(st.lists(st.integers(0, 40), min_size=2, max_size=6)))
    pairs = bounds[: len(bounds) // 2 * 2].reshape(-1, 2) + BEGAN
    return HostChange(thread, intervals.of(pairs[:, 0], pairs[:, 1]), factor)


@given(st.lists(changes(), max_size=4), st.lists(st.integers(0, 40), min_size=2, max_size=2))
def test_factors_apply_where_they_are_and_multiply_where_several_are(
    listed: list[HostChange], span: list[int]
) -> None:
    begin, end = sorted(span)
    spans = np.array([[begin, end]] * 2) + BEGAN
    kept = kept_share(listed, np.array([0, 1]), spans)
    for thread in (0, 1):
        left = 0.0
        for moment in range(begin, end):
            factor = 1.0
            for change in listed:
                time = change.time
                there = time is None or any(a <= moment + BEGAN < b for a, b in time.tolist())
                if change.thread in (-1, thread) and there:
                    factor *= change.factor
            left += factor
        if end > begin:
            assert kept[thread] == pytest.approx(left / (end - begin), abs=1e-9)
