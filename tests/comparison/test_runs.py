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


@pytest.mark.parametrize(("kept", "shown"), [(1, False), (None, True)])
def test_a_vanished_kind_of_which_no_number_is_left_is_not_listed(
    late: Run, kept: int | None, shown: bool
) -> None:
    odd = [replace(row, name="odd", bytes=None) for row in late.collectives[:kept]]
    found = compare_runs(replace(late, collectives=[*late.collectives, *odd]), late)
    assert "odd" in [row.name for row in found.collectives]
    listed = [row[0] for row in runs_document(found, 20).parts[-1].rows]
    assert ("odd" in listed) == shown
