"""One collective on its ranks on one clock: all leave it together, the late one came last."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import numpy as np
import pytest
from ranks.traces import TRANSFER_MS, Spell, write_run

import tb_hookview as hookview
from tb_hookview.analysis.activity import Activity
from tb_hookview.errors import NotFoundError
from tb_hookview.loading import load
from tb_hookview.ranks.result import RunReport
from tb_hookview.ranks.together import (
    MOST_RANKS,
    NOTHING,
    codes_of_columns,
    find_activities,
    rank_around,
    ranks_together,
)
from tb_hookview.trace.source.file import trace_file

CLOCKS = [0.0, 700.0, -300.0]
TRANSFER_US = (TRANSFER_MS - 0.02) * 1000
LATE = 1


def report_of(folder: Path, spells: Sequence[Spell], **how: object) -> RunReport:
    write_run(folder, spells, **how)  # type: ignore[arg-type]
    with ThreadPoolExecutor(1) as executor:
        return hookview.analyze_run(folder, executor)


@pytest.fixture
def report(tmp_path: Path) -> RunReport:
    return report_of(tmp_path / "run", [Spell(), Spell(b=9.0), Spell()], clocks=CLOCKS)


def test_all_leave_together_whatever_their_clocks(report: RunReport) -> None:
    shown = ranks_together(report, 2, 0)
    assert shown.refused is None
    assert (shown.offset, shown.left_out) == (0, 0)
    assert [(part.rank, part.late) for part in shown.ranks] == [(0, False), (1, True), (2, False)]
    assert [part.wait_us for part in shown.ranks] == pytest.approx([6000, 0, 6000])
    ends = [part.start_us + part.wait_us + shown.transfer_us for part in shown.ranks]
    assert ends == pytest.approx([ends[0]] * 3, abs=0.01)
    length = 6000 + TRANSFER_US
    assert shown.length_us == pytest.approx(2 * length, abs=0.1)
    assert min(part.start_us for part in shown.ranks) == pytest.approx(length / 2, abs=0.1)
    own = [part.own_start_us for part in shown.ranks]
    assert own[1] - own[0] == pytest.approx(700e3 + 6000, abs=0.1)


def test_of_many_ranks_the_late_one_is_on_every_page(tmp_path: Path) -> None:
    spells = [Spell(b=9.0) if rank == 17 else Spell() for rank in range(MOST_RANKS + 4)]
    report = report_of(tmp_path / "run", spells)
    first = ranks_together(report, 2, 0)
    assert [part.rank for part in first.ranks] == [*range(MOST_RANKS - 1), 17]
    assert first.left_out == 4
    second = ranks_together(report, 2, MOST_RANKS - 1)
    assert [part.rank for part in second.ranks] == [15, 16, 17, 18, 19]
    assert (second.offset, second.left_out) == (15, 0)
    assert [part.rank for part in ranks_together(report, 2, 1000).ranks] == [17]


def test_only_ranks_that_took_part_are_shown(tmp_path: Path) -> None:
    spells = [Spell(), Spell(b=9.0), Spell()]
    report = report_of(tmp_path / "run", spells, skipped={2: 2}, numbered=True)
    assert [part.rank for part in ranks_together(report, 0, 0).ranks] == [0, 1]
    assert [part.rank for part in ranks_together(report, 3, 0).ranks] == [0, 1, 2]


@pytest.mark.parametrize(
    ("spread", "says"),
    [(6001.0, "their clocks are known to 6.00 ms only"), (None, "the clock of rank 2 is unknown")],
)
def test_clocks_that_are_not_known_well_enough_make_no_picture(
    report: RunReport, spread: float | None, says: str
) -> None:
    *others, last = report.data.ranks
    doubted = [*others, msgspec.structs.replace(last, clock_spread_us=spread)]
    data = msgspec.structs.replace(report.data, ranks=doubted)
    shown = ranks_together(RunReport(data, report.members), 2, 0)
    assert says in (shown.refused or "")
    assert shown.ranks == []


def test_without_a_late_rank_there_is_no_picture(tmp_path: Path) -> None:
    shown = ranks_together(report_of(tmp_path / "run", [Spell(), Spell()]), 0, 0)
    assert shown.refused == "no rank was late for it: the ranks waited 0 us"
    assert shown.ranks == []


def test_no_such_collective(report: RunReport) -> None:
    with pytest.raises(NotFoundError, match="no collective 99"):
        ranks_together(report, 99, 0)


@pytest.mark.parametrize(("place", "late"), [(0, False), (LATE, True)])
def test_what_ran_before_is_where_the_rank_was(report: RunReport, place: int, late: bool) -> None:
    rank = report.data.ranks[place]
    found = find_activities(load(trace_file(rank.path)))
    around = rank_around(report, 2, rank, found)
    part = ranks_together(report, 2, 0).ranks[place]
    assert (around.rank, part.late) == (rank.rank, late)
    host, device = around.lanes
    assert (host.name, device.name) == ("host", "device")
    before = [span for span in host.spans if span.start_us < part.start_us - 50]
    assert before[-1].module == "b"
    column = ranks_together(report, 2, 0).length_us / 480
    end = before[-1].start_us + before[-1].duration_us
    assert end == pytest.approx(part.start_us - 20, abs=2 * column)
    # collectives are all that its device ran
    assert device.spans == []


def test_a_column_is_of_what_took_most_of_it() -> None:
    random = np.random.default_rng(5)
    for _ in range(50):
        start = random.integers(0, 1000, 12)
        activity = Activity(
            start,
            start + random.integers(1, 300, 12),
            random.integers(-5, 3, 12),
            np.zeros(12, bool),
        )
        edges = np.unique(random.integers(100, 1100, 9))
        got = codes_of_columns(activity, edges).tolist()
        for code, first, last in zip(got, edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            ran = _time_by_code(activity, first, last)
            nothing = last - first - sum(ran.values())
            if code == NOTHING:
                assert max(ran.values(), default=0) <= nothing or not ran
            else:
                assert ran[code] == max(ran.values()) > nothing


def _time_by_code(activity: Activity, first: int, last: int) -> dict[int, int]:
    time: dict[int, int] = {}
    columns = (activity.start, activity.end, activity.code)
    for start, end, code in zip(*(column.tolist() for column in columns), strict=True):
        if (inside := min(end, last) - max(start, first)) > 0:
            time[code] = time.get(code, 0) + inside
    return time
