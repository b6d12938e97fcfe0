"""Rows of steps, from the marks that the training left."""

from __future__ import annotations

import sys

from tb_hookview.watching.clock import BACKWARD, COLLECTION, DATA, GRADIENT, OPTIMIZER, ROOT

Ended = tuple[int, int, int, int, list[int], int]
"""A step: number, what the recorder did, beginning and end in nanoseconds, its marks, and the
number of blocks that were timed in it: all, or 0."""

Row = tuple[int, ...]
"""The same: number, nanoseconds of `DURATIONS`, collections, blocks forward, then backward; no
blocks where none were timed."""

UNKNOWN = -1
_LATER = sys.maxsize
_UNKNOWN, _NONE_YET = [UNKNOWN] * (GRADIENT + ROOT), [_LATER] * (COLLECTION + 1)
_AFTER = GRADIENT - 1
"""What a backward pass does after the last gradient of its last block; no mark has this number."""


def row_of(ended: Ended) -> Row:
    """Return a step's row.

    Read from the last mark to the first: what lies inside of a mark of the same kind, which ended
    later, is a part of it. A call inside of a backward pass repeats one, and counts there.

    The backward of a block is the time from the last gradient of the block before it in the pass,
    or from the beginning, to its own: hooks on parameters run before the gradient's bucket is
    reduced, so waiting for other ranks is in no block.
    """
    step, _, begun, over, marks, blocks = ended
    spent, earliest = _UNKNOWN.copy(), _NONE_YET.copy()
    pass_since, at, part = _LATER, 0, _AFTER
    collections = 0
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
