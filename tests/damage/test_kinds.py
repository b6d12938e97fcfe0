"""Every kind of damage at many places of six real traces, one report and one column at a time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from damage import kinds, real
from damage.kinds import KINDS, Damage
from damage.real import Real

PLACES = 9


def places(trace: Real) -> list[int]:
    """Events all over a trace that have all that is damaged; never two in a row."""
    whole = [
        number
        for number, event in enumerate(trace.events[:-1])
        if b'"args"' in event and b'"dur"' in event and b'"name"' in event and b'"X"' in event
    ]
    chosen = whole[:: max(1, len(whole) // PLACES)][:PLACES]
    return [number for number in chosen if number - 1 not in chosen]


def damaged(trace: Real, kind: Damage, where: list[int]) -> Real:
    changed = trace.changed({number: kind.damaged(trace.events[number]) for number in where})
    gaps = list(trace.gaps)
    for number in where if kind.name in kinds.BETWEEN else ():
        gaps[number] = kinds.BETWEEN[kind.name]
    return replace(changed, gaps=tuple(gaps))


def expected(trace: Real, kind: Damage, where: list[int]) -> Real:
    if kind.sound is None:
        return trace.without(set(where))
    return trace.changed({number: kind.sound(trace.events[number]) for number in where})


@pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])
@pytest.mark.parametrize("name", real.NAMES)
def test_the_report_is_that_of_the_undamaged_trace(tmp_path: Path, name: str, kind: Damage) -> None:
    trace = real.real(name)
    where = places(trace)
    assert len(where) > PLACES // 2
    bad, good = tmp_path / "bad.json", tmp_path / "good.json"
    bad.write_bytes(damaged(trace, kind, where).text())
    good.write_bytes(expected(trace, kind, where).text())
    (found, warned), (wanted, before) = real.report(bad), real.report(good)
    codes = kind.codes.split()
    if kinds.COUNTED.intersection(codes):
        assert found["trace"].pop("events") - wanted["trace"].pop("events") == len(where)
    assert found == wanted
    assert warned == {**before, **dict.fromkeys(codes, len(where))}
