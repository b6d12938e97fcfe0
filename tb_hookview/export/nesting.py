"""Find the rows that must leave a track so that the others nest."""

from __future__ import annotations

from collections.abc import Iterable


def leaving(spans: Iterable[tuple[int, int]]) -> list[bool]:
    """Whether each span has to leave.

    Spans are (start, end), by start and then longest first.

    Of two spans that cross, the shorter one leaves: a row around most of a thread may be crossed by
    a short one at its edge, and all that lies in it should stay where it is looked for.
    """
    result: list[bool] = []
    running: list[tuple[int, int, int]] = []
    for number, (start, end) in enumerate(spans):
        result.append(False)
        while running and running[-1][1] <= start:
            running.pop()
        while running and running[-1][1] < end:
            other_start, other_end, other = running[-1]
            if other_end - other_start >= end - start:
                result[number] = True
                break
            result[other] = True
            running.pop()
        if not result[number]:
            running.append((start, end, number))
    return result
