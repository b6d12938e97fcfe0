"""Rows of steps, from the marks that the training left."""

from __future__ import annotations

import sys

from tb_hookview.watching.clock import BACKWARD, COLLECTION, DATA, GRADIENT, OPTIMIZER, ROOT

Ended = tuple[int, int, int, int, list[int]]
"""A step: number, what the recorder did, beginning and end in nanoseconds, its marks."""

Row = tuple[int, ...]
"""The same: number, nanoseconds of `DURATIONS`, collections, blocks forward, then backward."""

UNKNOWN = -1
_LATER = sys.maxsize


class _Backward:
    """Time of the backward passes of a step: by block, up to the last gradient, and after it.

    That of a block is the time from the last gradient of the block before it in the pass, or from
    the beginning, to its own: hooks on parameters run before the gradient's bucket is reduced, so
    waiting for other ranks is in no block.
    """

    __slots__ = ("_at", "_block", "after", "by_block", "since", "total")

    def __init__(self, blocks: int) -> None:
        self.total = self.after = UNKNOWN
        self.by_block = [UNKNOWN] * blocks
        self.since = _LATER
        """Beginning of the pass that is read."""
        self._at = 0
        """Last gradient of `_block`, or the end of the pass."""
        self._block = UNKNOWN

    def begin(self, since: int, until: int) -> None:
        """Take a pass."""
        self.end()
        self.total = max(self.total, 0) + until - since
        self.since, self._at, self._block = since, until, UNKNOWN

    def gradient(self, at: int, block: int) -> None:
        """Take the last gradient of a block; later ones of the pass were taken before."""
        later, spent = self._block, self._at - at
        if later >= 0:
            known = self.by_block[later]
            self.by_block[later] = spent if known < 0 else known + spent
        else:
            self.total -= spent
            self.after = max(self.after, 0) + spent
        self._at, self._block = at, block

    def end(self) -> None:
        """End the pass that is read, if there is one."""
        if self._block >= 0:
            self.gradient(self.since, UNKNOWN)


def row_of(ended: Ended, blocks: int) -> Row:
    """Return a step's row.

    Read from the last mark to the first: what lies inside of a mark of the same kind, which ended
    later, is a part of it. A call inside of a backward pass repeats one, and counts there.
    """
    step, _, begun, over, marks = ended
    spent = [UNKNOWN] * (COLLECTION + 1)
    earliest = [_LATER] * (COLLECTION + 1)
    backward = _Backward(blocks)
    collections = 0
    ends = reversed(marks)
    for until, since, kind in zip(ends, ends, ends, strict=True):
        if kind >= GRADIENT:
            if since >= backward.since:
                backward.gradient(since, kind - GRADIENT)
        elif since < earliest[kind] and (kind > ROOT or since < earliest[BACKWARD]):
            earliest[kind] = since
            before = spent[kind]
            spent[kind] = until - since if before < 0 else before + until - since
            if kind == BACKWARD:
                backward.begin(since, until)
            elif kind == COLLECTION:
                collections += 1
    backward.end()
    return (
        step,
        over - begun,
        spent[DATA],
        spent[ROOT],
        backward.total,
        backward.after,
        spent[OPTIMIZER],
        max(spent[COLLECTION], 0),
        collections,
        *spent[:blocks],
        *backward.by_block,
    )
