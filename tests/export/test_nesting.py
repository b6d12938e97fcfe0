"""Rows that leave a track, against the definition of nesting."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from tb_hookview.export.threads import leaving

SPANS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 12)), max_size=14).map(
    lambda pairs: sorted(((s, s + d) for s, d in pairs), key=lambda span: (span[0], -span[1]))
)


def cross(one: tuple[int, int], other: tuple[int, int]) -> bool:
    first, second = sorted((one, other))
    return first[0] < second[0] < first[1] < second[1]


@given(SPANS)
def test_what_stays_nests_and_nothing_leaves_without_need(spans: list[tuple[int, int]]) -> None:
    leaves = leaving(spans)
    assert len(leaves) == len(spans)
    staying = [span for span, leaves_it in zip(spans, leaves, strict=True) if not leaves_it]
    assert not any(cross(one, other) for one, other in combinations(staying, 2))
    for span, leaves_it in zip(spans, leaves, strict=True):
        length = span[1] - span[0]
        longer = (other for other in spans if other[1] - other[0] >= length)
        assert not leaves_it or any(cross(span, other) for other in longer)


def test_the_shorter_leaves() -> None:
    assert leaving([(0, 10), (8, 100), (9, 20)]) == [True, False, False]
    assert leaving([(0, 100), (90, 101)]) == [False, True]
