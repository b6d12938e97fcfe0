"""Two runs of many ranks and what changed between them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace
from ranks.traces import Spell, write_run

from tb_hookview.comparison.document import runs_document
from tb_hookview.comparison.runs import compare_runs
from tb_hookview.ranks.run import analyze_run
from tb_hookview.schema import Run


def run_of(folder: Path, *spells: Spell) -> Run:
    with ThreadPoolExecutor(1) as executor:
        return analyze_run(write_run(folder, spells), executor).data


STEPS = 5


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run_of(tmp_path_factory.mktemp("late"), Spell(), Spell(b=9.0), Spell())


def test_a_run_and_itself_differ_in_nothing(late: Run) -> None:
    found = compare_runs(late, late)
    assert {row.status for row in [*found.ranks, *found.collectives]} == {"same"}
    assert found.speedup == 1.0
    assert (found.late, found.no_longer_late) == ([], [])


def test_a_remedy_shows_in_the_rank_that_was_late(late: Run, tmp_path: Path) -> None:
    found = compare_runs(late, run_of(tmp_path / "healthy", Spell(), Spell(), Spell()))
    assert found.no_longer_late == [1]
    assert found.speedup == pytest.approx(12 / 6)
    assert found.ranks[0].rank == 1
    assert found.ranks[0].times.step_us.change == pytest.approx(-6000)


def test_ranks_and_collectives_of_one_run_alone(late: Run) -> None:
    fewer = replace(late, ranks=late.ranks[1:], collectives=[])
    found = {row.rank: row for row in compare_runs(late, fewer).ranks}
    assert {rank: row.status for rank, row in found.items()} == {
        0: "vanished",
        1: "same",
        2: "same",
    }
    assert found[0].times.step_us.other is None
    (collective,) = compare_runs(fewer, late).collectives
    assert (collective.status, collective.count.base) == ("appeared", 0.0)
    assert collective.transfer_us.base is None


@pytest.mark.parametrize(("ranks", "listed"), [(2, False), (3, True)])
def test_what_not_all_ranks_recorded_is_in_no_comparison(
    late: Run, ranks: int, listed: bool
) -> None:
    """Files of ranks do not begin with the same collective."""
    kind = {"name": "odd", "bytes": None}
    rows = [replace(row, **kind) for row in late.collectives]
    odd = [*rows, replace(rows[0], ranks=ranks, bytes=7 if ranks == 3 else None)]
    found = compare_runs(replace(late, collectives=odd), replace(late, collectives=rows))
    assert ("vanished" in [row.status for row in found.collectives]) == listed


def test_collectives_of_a_run_that_lacks_a_trace_are_the_same(late: Run) -> None:
    fewer = replace(late, collectives=[replace(row, ranks=2) for row in late.collectives])
    assert {row.status for row in compare_runs(late, fewer).collectives} == {"same"}
    assert {row.status for row in compare_runs(fewer, late).collectives} == {"same"}


def test_other_collectives_of_that_size_have_their_own_partners(late: Run) -> None:
    rows = late.collectives
    pairs = [replace(row, ranks=1) for row in rows]
    fewer = replace(late, collectives=[*(replace(row, ranks=2) for row in rows), *pairs])
    whole = replace(late, collectives=[*rows, *pairs])
    assert {row.status for row in compare_runs(whole, fewer).collectives} == {"same"}


def test_a_collective_that_vanished_shows_how_often_it_was(late: Run) -> None:
    odd = replace(late.collectives[0], name="odd", bytes=None)
    found = compare_runs(replace(late, collectives=[*late.collectives, odd]), late)
    (row,) = (row for row in runs_document(found, 20).parts[-1].rows if row[0] == "odd")
    assert row[:5] == ("odd", "vanished", "-", "0", f"{-1 / STEPS:+.4g}")
