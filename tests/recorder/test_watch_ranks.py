"""Four ranks that are watched: each slow one is named with rank and block, from its rows alone."""

from __future__ import annotations

import pytest
from support.ranks import FORKED_RANKS, run_forked_ranks, run_ranks
from support.watched import rows

from tb_hookview.history.answer import read_history
from tb_hookview.schema.history import History

pytestmark = pytest.mark.slow

EVEN_RUNS = 5
PROGRAM = FORKED_RANKS.with_name("watched_ranks.py")
LONG_US = 50_000
"""Half of its collection: longer than any step that is drawn."""


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> History:
    folder = tmp_path_factory.mktemp("slow")
    run_forked_ranks([PROGRAM, folder, "200", "slow", "0"], folder, size=4)
    return read_history(str(folder / "0"))


def test_each_slow_rank_is_named_for_what_it_does_and_the_fourth_is_not(slow):
    assert {(row.rank, row.part, row.block) for row in slow.slow_ranks} == {
        (0, "backward", "layers.2.first"),
        (1, "data", None),
        (2, "garbage collection", None),
    }


def test_steps_that_collections_make_slow_name_their_rank(slow):
    collected = [row for row in slow.slow_steps if row.causes and row.excess_us > LONG_US]
    assert len(collected) >= 10
    causes = {(row.causes[0].rank, row.causes[0].part) for row in collected}
    assert causes == {(2, "garbage collection")}


def test_all_ranks_record_the_same_steps(slow):
    by_rank: dict[int, list[tuple[int, int]]] = {}
    for row in slow.recordings:
        by_rank.setdefault(row.rank, []).append((row.start, row.steps))
    assert sorted(by_rank) == [0, 1, 2, 3]
    assert len({tuple(steps) for steps in by_rank.values()}) == 1


def test_nobody_is_named_where_nothing_is_slow(tmp_path):
    seeds = [str(number) for number in range(EVEN_RUNS)]
    run_forked_ranks([PROGRAM, tmp_path, "120", "even", *seeds], tmp_path, size=4)
    for seed in seeds:
        said = read_history(str(tmp_path / seed))
        assert [rank.steps for rank in said.ranks] == [120] * 4
        assert said.slow_ranks == [], seed


def test_a_rank_that_is_killed_stops_no_other(tmp_path):
    command = [PROGRAM.with_name("killed_rank.py"), tmp_path]
    run_forked_ranks(command, tmp_path, size=3)
    said = read_history(str(tmp_path / "run"))
    recorded = {row.rank: (row.start, row.steps) for row in said.recordings}
    assert sorted(recorded) == [0, 2]
    assert recorded[0] == recorded[2]
    steps = {rank.rank: rank.steps for rank in said.ranks}
    assert steps[0] == steps[2] == recorded[0][0] + 2


def test_sharded_blocks_have_times_and_gradients_are_equal(tmp_path):
    program = PROGRAM.with_name("sharded_watched.py")
    for said in run_ranks([program, tmp_path], tmp_path):
        assert said.split() == ["144", "True"] * 2
    for reshard in ("True", "False"):
        written = [row for row in rows(tmp_path / reshard) if row["step"] > 4]
        assert len(written) == 2 * 8
        for row in written:
            assert len(row["backward"]) == 6
            assert None not in row["backward"]
            assert sum(row["backward"]) <= row["backward_us"] + 6
