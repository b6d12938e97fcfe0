"""Runs of many ranks in the terminal: limits, differences, notes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ranks.traces import Spell, drop_collectives, write_run
from support.command import Done, call
from support.here import ranks_read_here

__all__ = ["ranks_read_here"]
pytestmark = pytest.mark.usefixtures("ranks_read_here")
EVEN = [Spell(), Spell(), Spell()]
LATE = [Spell(), Spell(b=9.0), Spell()]


@pytest.fixture
def even(tmp_path: Path) -> str:
    return str(write_run(tmp_path / "even", EVEN))


@pytest.fixture
def late(tmp_path: Path) -> str:
    return str(write_run(tmp_path / "late", LATE))


def checked(*arguments: str) -> Done:
    return call("check", *arguments)


def test_limits_of_a_run_that_hold(even: str) -> None:
    done = checked(even, "--max-stragglers", "0", "--max-rank-wait-percent", "0.1")
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "ok   ranks wait for others: 0%, limit 0.1%",
        "ok   stragglers: 0, limit 0",
    ]


def test_limits_of_a_run_that_do_not_hold_name_rank_and_module(late: str) -> None:
    """Two of three ranks wait for 6 of 12 ms."""
    done = checked(late, "--max-rank-wait-percent", "30", "--max-stragglers", "1")
    assert done.returncode == 1
    fails, holds = done.stdout.splitlines()
    assert fails.startswith("FAIL ranks wait for others: 33.3")
    assert "(stragglers: rank 1, in module b (forward), costs 6.00 ms per step)" in fails
    assert holds.startswith("ok   stragglers: 1, limit 1")


def test_one_rank_is_nothing_to_check(tmp_path: Path) -> None:
    done = checked(str(write_run(tmp_path / "one", [Spell()])), "--max-stragglers", "0")
    assert done.returncode == 2
    assert "1 rank and no collective matched" in done.stderr


def test_a_rank_that_cannot_be_read_is_not_passed_over(late: str) -> None:
    (Path(late) / "rank0.1.pt.trace.json.gz").write_bytes(b"\x1f\x8b nothing")
    done = checked(late, "--max-stragglers", "5")
    assert done.returncode == 2
    assert "rank0" in done.stderr


def test_a_rank_without_a_recorded_collective_is_not_passed_over(even: str) -> None:
    drop_collectives(Path(even) / "rank1.1.pt.trace.json.gz", device=False)
    done = checked(even, "--max-stragglers", "0", "--max-rank-wait-percent", "5")
    assert done.returncode == 2
    assert "rank 1 shows no collective" in done.stderr


def test_limits_of_ranks_are_of_whole_runs(even: str) -> None:
    done = checked(even, "--max-stragglers", "0", "--step", "ProfilerStep#1")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("hookview: limits of ranks are of the whole run")


def test_two_runs_differ_in_the_late_rank(even: str, late: str) -> None:
    said = call("diff", even, late, "--ranks")
    assert "rank 1 is a straggler in the other run only" in said.stdout
    answer = json.loads(call("diff", even, late, "--ranks", "--json").stdout)
    assert answer["late"] == [1]
    assert answer["mean"]["step_us"]["change"] == pytest.approx(6000)
    assert answer["ranks"][0]["rank"] == 1
    assert answer["ranks"][0]["times"]["wait_us"]["change"] == pytest.approx(0, abs=1)
    (collective,) = answer["collectives"]
    assert collective["wait_us"]["change"] == pytest.approx(6000, abs=1)
    assert collective["count"]["change"] == 0


def test_what_is_missing_is_said(late: str) -> None:
    (Path(late) / "rank0.1.pt.trace.json.gz").unlink()
    (Path(late) / "rank2.1.pt.trace.json.gz").write_bytes(b"\x1f\x8b nothing")
    said = call("ranks", late).stdout
    assert "1 of 3 ranks" in said
    assert "no trace of ranks 0" in said
    assert "not read: " in said
