"""Shares of a file for several processes, which end together.

Each process inflates and cuts the text up to the end of its share, which is quick and gives the
same pieces in each, and decodes its share alone. So a later share is smaller than an earlier one,
and a process that begins later gets less. Reading cannot become quicker than inflating and cutting
are: `1 / CUTTING` times as quick as in one process, about.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

CUTTING = 0.07
"""Fraction of the time of reading that inflating and cutting take (measured: 0.04 to 0.10)."""

BYTES_PER_S = 200e6
"""Bytes of JSON that one process reads in a second, about.

Only the shares depend on it."""

SMALLEST_SHARE = 22 << 20
"""Bytes of JSON below which another process has too little to do.

At 16 MB it gained nothing, and cost twice the processor's time and memory."""


def shares(size: int, ready_in: Sequence[float]) -> list[float]:
    """Return the end of each process's share, bytes of the text; ours comes first.

    Args:
        size: bytes of the text.
        ready_in: seconds until each other process can begin, soonest first.
    """
    for count in range(len(ready_in), 0, -1):
        ends = _ends(size, ready_in[:count])
        if all(end - begin >= SMALLEST_SHARE for begin, end in pairwise(ends)):
            return ends
    return [float(size)]


def _ends(size: int, ready_in: Sequence[float]) -> list[float]:
    """Shares of any size, which all end at the same time.

    After a time in which one process reads `most` bytes, a share that begins at `begin` and was
    delayed by as much as `late` bytes has `most - late - CUTTING * begin` bytes. So each end is
    linear in `most`, and the last one is the size.
    """
    factors, terms = [1.0], [0.0]
    for seconds in ready_in:
        factors.append((1 - CUTTING) * factors[-1] + 1)
        terms.append((1 - CUTTING) * terms[-1] + seconds * BYTES_PER_S)
    most = (size + terms[-1]) / factors[-1]
    return [factor * most - term for factor, term in zip(factors, terms, strict=True)]
