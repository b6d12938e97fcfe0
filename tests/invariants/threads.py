"""Phases of host threads against a walk along their rows."""

from __future__ import annotations

from collections import Counter

import pytest
from invariants.case import Case
from invariants.registry import invariant

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.host.rows import device_threads
from tb_hookview.analysis.phases import REASONS
from tb_hookview.schema import Phase


@invariant(slow=True)
def phases_of_threads_are_those_of_a_walk_along_their_rows(case: Case) -> None:
    """Each span between two bounds: the first reason of its open rows."""
    table = Counter[tuple[str, str, str]]()
    for row in case.data.threads:
        for phase, spent in row.by_phase.items():
            table[row.thread, row.process, phase] += spent
    slow = _slow_times(case.analysis)
    assert table == pytest.approx({key: spent / 1000 for key, spent in slow.items()}, abs=1e-3)


def _slow_times(analysis: Analysis) -> Counter[tuple[str, str, str]]:
    found = Counter[tuple[str, str, str]]()
    closures = _closures(analysis)
    for thread, bounds in _bounds(analysis).items():
        place = analysis.trace.threads[thread]
        open_rows, before = [0] * (len(REASONS) + 1), 0
        for moment, change, number in sorted([*bounds, *closures]):
            *counts, closed = open_rows
            reasons = (REASONS[i] for i, rows in enumerate(counts) if rows)
            first = next((each for each in reasons if each != Phase.OPTIMIZER or not closed), None)
            if first is not None and moment > before:
                phase = Phase(first).name.lower()
                found[place.name or place.tid, place.pid, phase] += moment - before
            open_rows[number] += change
            before = moment
    return found


def _closures(analysis: Analysis) -> list[tuple[int, int, int]]:
    """Where a closure begins and ends, whose time is no optimizer's, as a reason after the last."""
    spans = analysis.phases.closures.tolist()
    return [edge for a, b in spans for edge in ((a, 1, len(REASONS)), (b, -1, len(REASONS)))]


def _bounds(analysis: Analysis) -> dict[int, list[tuple[int, int, int]]]:
    """By thread of the host, where a row opens (1) or closes (-1) a reason and the last of all."""
    tree, last = analysis.call_tree, len(REASONS) - 1
    reason, parents, end = (c.tolist() for c in (analysis.phases.reason, tree.parent, tree.end))
    on_device = device_threads(analysis.trace)
    bounds: dict[int, list[tuple[int, int, int]]] = {}
    rows = zip(tree.thread.tolist(), parents, tree.start.tolist(), end, reason, strict=True)
    for thread, parent, start, stop, why in rows:
        if on_device[thread]:
            continue
        opens = parent < 0 or reason[parent] != why or stop > end[parent]
        for number in {why if opens else last, last}:
            bounds.setdefault(thread, []).extend([(start, 1, number), (stop, -1, number)])
    return bounds
