"""Rows of steps, from the marks that the training left."""

from __future__ import annotations

import sys
from typing import NamedTuple

from tb_hookview.watching.clock import BACKWARD, COLLECTION, DATA, GRADIENT, OPTIMIZER, ROOT

Ended = tuple[int, int, int, int, list[int]]
"""A step: number, what the recorder did, beginning and end in nanoseconds, its marks."""

Row = tuple[int, ...]
"""The same: number, nanoseconds of `DURATIONS`, collections, blocks forward, then backward."""

UNKNOWN = -1
_LATER = sys.maxsize


class _Pass(NamedTuple):
    """A backward pass."""

    since: int
    until: int
    gradients: list[tuple[int, int]]
    """Time and block of last gradients, latest first."""


def row_of(ended: Ended, blocks: int) -> Row:
    """Return a step's row.

    Read from the last mark to the first: what lies inside of a mark of the same kind, which ended
    later, is a part of it. A call inside of a backward pass repeats one, and counts there.
    """
    step, _, begun, over, marks = ended
    spent = [UNKNOWN] * (COLLECTION + 1)
    earliest = [_LATER] * (COLLECTION + 1)
    passes: list[_Pass] = []
    collections = 0
    ends = reversed(marks)
    for until, since, kind in zip(ends, ends, ends, strict=True):
        if kind >= GRADIENT:
            if passes and since >= passes[-1].since:
                passes[-1].gradients.append((since, kind - GRADIENT))
        elif since < earliest[kind] and (kind > ROOT or since < earliest[BACKWARD]):
            earliest[kind] = since
            before = spent[kind]
            spent[kind] = until - since if before < 0 else before + until - since
            if kind == BACKWARD:
                passes.append(_Pass(since, until, []))
            elif kind == COLLECTION:
                collections += 1
    backward, after_ns, by_block = _backward(passes, blocks)
    return (
        step,
        over - begun,
        spent[DATA],
        spent[ROOT],
        backward,
        after_ns,
        spent[OPTIMIZER],
        max(spent[COLLECTION], 0),
        collections,
        *spent[:blocks],
        *by_block,
    )


def _backward(passes: list[_Pass], blocks: int) -> tuple[int, int, list[int]]:
    """Return the time up to the last gradient, the time after it, and the time of each block.

    That of a block is the time from the last gradient of the block before it in the pass, or from
    the beginning, to its own: hooks on parameters run before the gradient's bucket is reduced, so
    waiting for other ranks is in no block.
    """
    total = after = UNKNOWN
    by_block = [UNKNOWN] * blocks
    for each in passes:
        last = each.gradients[0][0] if each.gradients else each.until
        total = max(total, 0) + last - each.since
        if each.gradients:
            after = max(after, 0) + each.until - last
        cursor, block = last, -1
        for at, earlier in (*each.gradients, (each.since, -1)):
            if block >= 0:
                by_block[block] = max(by_block[block], 0) + cursor - at
            cursor, block = at, earlier
    return total, after, by_block
