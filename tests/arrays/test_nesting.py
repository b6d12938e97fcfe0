from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tb_hookview.arrays import nesting as nesting
from tb_hookview.arrays.nesting import CallTree

Tree = tuple[int, list["Tree"]]

trees = st.recursive(
    st.tuples(st.integers(1, 5), st.just([])),
    lambda inner: st.tuples(st.integers(0, 5), st.lists(inner, max_size=4)),
    max_leaves=30,
)
MICROSECOND = 1000


def laid_out(threads: list[list[Tree]]) -> list[tuple[int, int, int]]:
    """Rows (thread, start, end) of properly nested intervals; gaps of 2 us around everything."""
    rows: list[tuple[int, int, int]] = []

    def place(thread: int, tree: Tree, start: int) -> int:
        length, children = tree
        row = len(rows)
        rows.append((thread, start, 0))
        clock = start + 2 * MICROSECOND
        for child in children:
            clock = place(thread, child, clock) + 2 * MICROSECOND
        end = clock + length * MICROSECOND
        rows[row] = (thread, start, end)
        return end

    for thread, call_tree in enumerate(threads):
        clock = 0
        for tree in call_tree:
            clock = place(thread, tree, clock)
    return rows


def columns(rows: list[tuple[int, int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    ordered = sorted(rows, key=lambda row: (row[0], row[1], row[1] - row[2]))
    thread, start, end = np.array(ordered, np.int64).reshape(-1, 3).T
    return thread, start, end


def slow_parents(thread: np.ndarray, start: np.ndarray, end: np.ndarray) -> list[int]:
    """A stack per thread, one row after the other."""
    parents, stack = [], []
    for i in range(len(start)):
        while stack and (thread[stack[-1]] != thread[i] or end[stack[-1]] <= start[i]):
            stack.pop()
        parents.append(stack[-1] if stack else -1)
        stack.append(i)
    return parents


@given(st.lists(st.lists(trees, max_size=4), min_size=1, max_size=3))
def test_nested_rows_find_their_parents(threads: list[list[Tree]]) -> None:
    thread, start, end = columns(laid_out(threads))
    assert nesting.enclosing(thread, start, end).tolist() == slow_parents(thread, start, end)


intervals = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 60), st.integers(0, 40)), max_size=40
)


@given(intervals)
def test_any_rows_form_a_call_tree(raw: list[tuple[int, int, int]]) -> None:
    """Whatever crosses what: a parent stands before its child, on its thread, open at its start."""
    rows = [(t, 5 * MICROSECOND * s, 5 * MICROSECOND * (s + d)) for t, s, d in raw]
    thread, start, end = columns(rows)
    parent = nesting.enclosing(thread, start, end)
    for child, above in enumerate(parent.tolist()):
        assert above < child
        if above >= 0:
            assert thread[above] == thread[child]
            assert end[above] > start[child]


@given(intervals)
def test_self_times_of_nested_rows_sum_to_the_union(raw: list[tuple[int, int, int]]) -> None:
    thread, start, end = columns(laid_out([[(d, []), (s, [(1, [])])] for _, s, d in raw]))
    parent = nesting.enclosing(thread, start, end)
    roots = parent < 0
    total = nesting.self_time(start, end, parent).sum()
    assert total == (end - start)[roots].sum()


def test_overlap_within_rounding_makes_neighbours() -> None:
    thread = np.zeros(2, np.int64)
    start, end = np.array([0, 9_500]), np.array([10_000, 30_000])
    assert nesting.enclosing(thread, start, end).tolist() == [-1, -1]


def test_a_row_that_outlasts_the_one_around_it_is_its_child_up_to_its_end() -> None:
    thread = np.zeros(2, np.int64)
    start, end = np.array([0, 5_000]), np.array([10_000, 30_000])
    parent = nesting.enclosing(thread, start, end)
    assert parent.tolist() == [-1, 0]
    assert nesting.self_time(start, end, parent).tolist() == [5_000, 25_000]


@given(
    st.lists(st.lists(trees, max_size=4), min_size=1, max_size=2),
    st.randoms(),
    st.sampled_from([0, 0.05, 0.4]),
)
def test_questions_about_ancestors_against_walking_up(
    threads: list[list[Tree]], random, share: float
) -> None:  # type: ignore[no-untyped-def]
    thread, start, end = columns(laid_out(threads))
    parent = nesting.enclosing(thread, start, end)
    wanted = np.array([random.random() < share for _ in parent], bool)

    def walk(row: int) -> list[int]:
        seen = []
        while row >= 0:
            seen.append(row)
            row = int(parent[row])
        return seen

    chains = [walk(row) for row in range(len(parent))]
    nearest = [next((r for r in chain if wanted[r]), -1) for chain in chains]
    above = [next((r for r in chain[1:] if wanted[r]), -1) for chain in chains]
    assert nesting.nearest(parent, wanted).tolist() == nearest
    call_tree = CallTree(np.arange(len(start)), parent, start, end, thread)
    assert call_tree.nearest(wanted).tolist() == nearest
    assert call_tree.nearest_above(wanted).tolist() == above
    assert call_tree.inside(wanted).tolist() == [row >= 0 for row in nearest]
    group = np.array([random.randrange(3) for _ in parent], int)
    outer = [all(group[r] != group[chain[0]] for r in chain[1:]) for chain in chains]
    assert call_tree.outermost(np.arange(len(parent)), group).tolist() == outer


@given(st.lists(st.lists(trees, max_size=4), min_size=1, max_size=2))
def test_rows_below_a_row_follow_it_without_a_gap(threads: list[list[Tree]]) -> None:
    thread, start, end = columns(laid_out(threads))
    parent = nesting.enclosing(thread, start, end)
    last = np.arange(len(parent))
    for row in reversed(range(len(parent))):
        if parent[row] >= 0:
            last[parent[row]] = max(last[parent[row]], last[row])
    call_tree = CallTree(np.arange(len(start)), parent, start, end, thread)
    assert call_tree.subtree_end.tolist() == (last + 1).tolist()


@given(st.lists(st.lists(trees, max_size=4), min_size=1, max_size=2), st.data())
def test_innermost_row_at_a_moment(threads: list[list[Tree]], data: st.DataObject) -> None:
    thread, start, end = columns(laid_out(threads))
    call_tree = CallTree(
        np.arange(len(start)), nesting.enclosing(thread, start, end), start, end, thread
    )
    asked = data.draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 200_000)), max_size=20))
    queries = np.array(asked, np.int64).reshape(-1, 2)
    found = nesting.innermost_at(call_tree, queries[:, 0], queries[:, 1])
    for (on, moment), row in zip(asked, found.tolist(), strict=True):
        open_rows = np.flatnonzero((thread == on) & (start <= moment) & (end > moment))
        assert row == (open_rows[-1] if len(open_rows) else -1)


def test_rows_of_equal_extent_nest_by_rank() -> None:
    """Those with the lower number are around the others; without numbers, the earlier ones."""
    thread, start, duration = np.array([0, 0, 0, 1]), np.array([5, 5, 5, 5]), np.full(4, 9)
    event = np.array([2, 4, 6, 8])
    rank = {2: 30, 4: 10, 6: 20, 8: 0}
    ranked = nesting.build(
        event, thread, start, duration, lambda rows: np.array([rank[row] for row in rows.tolist()])
    )
    assert ranked.event.tolist() == [4, 6, 2, 8]
    assert ranked.parent.tolist() == [-1, 0, 1, -1]
    assert nesting.build(event, thread, start, duration).event.tolist() == event.tolist()
