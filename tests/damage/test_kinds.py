"""Every kind of damage at many places of six real traces, one report and one column at a time."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from damage import kinds, real
from damage.kinds import KINDS, Damage
from damage.real import Real
from msgspec import structs
from support.same_trace import assert_same

PLACES = 9
MOST = 300
"""Events of a trace, so that it is read quickly; `WHOLE` has several pieces of text."""
WHOLE = "tracelens_h100_bert_small"
REPORTED = "hta_mi250_minitoy_training"


@cache
def real_trace(name: str) -> Real:
    return real.real(name) if name == WHOLE else real.real(name).thinned(MOST)


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


@pytest.fixture
def files(tmp_path: Path, name: str, kind: Damage) -> tuple[Path, Path, int]:
    """A damaged file, the one that it must be read as, and how many events are damaged."""
    trace = real_trace(name)
    where = places(trace)
    assert len(where) > PLACES // 2
    bad, good = tmp_path / "bad.json", tmp_path / "good.json"
    bad.write_bytes(damaged(trace, kind, where).text())
    good.write_bytes(expected(trace, kind, where).text())
    return bad, good, len(where)


each_kind = pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])


@each_kind
@pytest.mark.parametrize("name", real.NAMES)
def test_the_columns_are_those_of_the_undamaged_trace(
    files: tuple[Path, Path, int], kind: Damage
) -> None:
    bad, good, damages = files
    (found, lost), (wanted, before) = real.columns(bad), real.columns(good)
    more = found.event_count - wanted.event_count
    assert more == (damages if counted(kind) else 0)
    assert_same(structs.replace(found, event_count=wanted.event_count), wanted)
    assert lost == {**before, **dict.fromkeys(kind.codes.split(), damages)}


@each_kind
@pytest.mark.parametrize("name", [REPORTED])
def test_the_report_is_that_of_the_undamaged_trace(
    files: tuple[Path, Path, int], kind: Damage
) -> None:
    bad, good, damages = files
    (found, warned), (wanted, before) = real.report(bad), real.report(good)
    more = found["trace"].pop("events") - wanted["trace"].pop("events")
    assert more == (damages if counted(kind) else 0)
    assert found == wanted
    assert warned == {**before, **dict.fromkeys(kind.codes.split(), damages)}


def counted(kind: Damage) -> bool:
    """Whether the damaged events are counted, though nothing else knows them."""
    return not kinds.COUNTED.isdisjoint(kind.codes.split())
