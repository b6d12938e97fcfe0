"""Rows of steps, from the marks that the training left."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from itertools import repeat
from operator import ge, lt, sub

from tb_hookview.watching.clock import BACKWARD, COLLECTION, DATA, GRADIENT, OPTIMIZER, ROOT

Ended = tuple[int, int, int, int, list[int], int]
"""A step: number, what the recorder did, beginning and end in nanoseconds, its marks, and the
number of blocks that were timed in it: all, or 0; -1 if no phase was, either."""

Row = tuple[int, ...]
"""The same: number, nanoseconds of `DURATIONS`, collections, blocks forward, then backward; no
blocks where none were timed."""

UNKNOWN = -1
_LATER = sys.maxsize
_UNKNOWN, _NONE_YET = [UNKNOWN] * (GRADIENT + ROOT), [_LATER] * (COLLECTION + 1)
_PHASES = frozenset((DATA, ROOT, BACKWARD, OPTIMIZER))
_AFTER = GRADIENT - 1
"""What a backward pass does after the last gradient of its last block; no mark has this number."""


def rows_of(steps: Sequence[Ended]) -> list[Row]:
    """Return the rows of steps, in their order.

    Steps of like marks are read together: that takes a third of the time.
    """
    alike: dict[tuple[int, ...], list[Ended]] = {}
    for ended in steps:
        alike.setdefault((ended[5], *ended[4][::3]), []).append(ended)
    rows: list[Row] = []
    for (blocks, *kinds), group in alike.items():
        alone = blocks > 0 or (blocks < 0 and not {DATA}.issuperset(kinds))
        together = None if alone else _rows_together(group, kinds)
        rows += map(row_of, group) if together is None else together
    return sorted(rows)


def _rows_together(steps: list[Ended], kinds: list[int]) -> Iterable[Row] | None:
    """Return the rows of steps with marks of these kinds, one of each.

    None where each step has to be looked at: something is repeated or inside of something else.
    """
    gradient = max(kinds, default=0)
    phases = _PHASES | {gradient} if gradient >= GRADIENT else _PHASES
    if len({*kinds}) < len(kinds) or not phases.issuperset(kinds):
        return None
    number, _, begun, over, marks, _ = zip(*steps, strict=True)
    columns = [*zip(*marks, strict=True)]
    since, until = (dict(zip(kinds, columns[at::3], strict=True)) for at in (1, 2))
    passed = since.get(BACKWARD, ())
    if not all(map(lt, since.get(ROOT, ()), passed)):
        return None
    spent = [
        map(sub, until[kind], since[kind]) if kind in since else repeat(UNKNOWN)
        for kind in (DATA, ROOT, BACKWARD, OPTIMIZER)
    ]
    data, root, backward, optimizer = spent
    after: Iterable[int] = repeat(UNKNOWN)
    if gradient >= GRADIENT:
        last = since[gradient]
        if kinds[kinds.index(gradient) + 1 :][:1] != [BACKWARD] or not all(map(ge, last, passed)):
            return None
        backward, after = map(sub, last, passed), map(sub, until[BACKWARD], last)
    took, none = map(sub, over, begun), repeat(0)
    return zip(number, took, data, root, backward, after, optimizer, none, none, strict=False)


def row_of(ended: Ended) -> Row:
    """Return a step's row.

    Read from the last mark to the first: what lies inside of a mark of the same kind, which ended
    later, is a part of it. A call inside of a backward pass repeats one, and counts there.

    The backward of a block is the time from the last gradient of the block before it in the pass,
    or from the beginning, to its own: hooks on parameters run before the gradient's bucket is
    reduced, so waiting for other ranks is in no block.
    """
    step, _, begun, over, marks, blocks = ended
    if blocks < 0:  # another wrapper around torch's may have kept ours in use
        marks = [
            part
            for at in range(0, len(marks), 3)
            if marks[at] in (DATA, COLLECTION)
            for part in marks[at : at + 3]
        ]
        blocks = 0
    spent, earliest = _UNKNOWN.copy(), _NONE_YET.copy()
    pass_since, at, part, collections = _LATER, 0, _AFTER, 0
    ends = reversed(marks)
    for until, since, kind in zip(ends, ends, ends, strict=True):
        if kind >= GRADIENT:
            if since >= pass_since:
                before = spent[part]
                spent[part] = at - since if before < 0 else before + at - since
                at, part = since, kind
        elif since < earliest[kind] and (kind > ROOT or since < pass_since):
            earliest[kind] = since
            before = spent[kind]
            spent[kind] = until - since if before < 0 else before + until - since
            if kind == BACKWARD:
                _end_pass(spent, part, at - pass_since)
                pass_since, at, part = since, until, _AFTER
            elif kind == COLLECTION:
                collections += 1
    _end_pass(spent, part, at - pass_since)
    row = (
        step,
        over - begun,
        spent[DATA],
        spent[ROOT],
        spent[BACKWARD] - max(spent[_AFTER], 0),
        spent[_AFTER],
        spent[OPTIMIZER],
        max(spent[COLLECTION], 0),
        collections,
    )
    return (*row, *spent[:blocks], *spent[GRADIENT : GRADIENT + blocks]) if blocks else row


def _end_pass(spent: list[int], part: int, first: int) -> None:
    """Add the time from the beginning of a pass to its first mark of a block, if it has one."""
    if part != _AFTER:
        spent[part] = max(spent[part], 0) + first
