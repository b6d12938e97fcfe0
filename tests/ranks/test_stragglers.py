"""Every straggler in order, each with those before it fixed; none where chance alone decides."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest
from ranks.programs import Program, Step, played, write
from ranks.test_run import analyzed

from tb_hookview.cli.checks import stragglers
from tb_hookview.comparison.runs import compare_runs
from tb_hookview.errors import UsageError
from tb_hookview.formats import format_us
from tb_hookview.ranks.document import run_document, straggler_lines, verdict_sentence
from tb_hookview.ranks.lateness import is_consistent, latest

STEPS = 6
Delays = Mapping[int, tuple[float, float]]
"""Milliseconds by which ranks are longer in `a` and in `b` of each step."""


def program(ranks: int, delays: Delays, steps: int = STEPS) -> Program:
    """All work 2 ms in `a` and 3 in `b` of each step, but for the delays."""

    def step(rank: int) -> Step:
        a, b = delays.get(rank, (0.0, 0.0))
        return Step((2.0 + a,), (3.0 + b,), at_once=True, last=0.0)

    return [[step(rank) for _ in range(steps)] for rank in range(ranks)]


def step_ms(ranks: int, delays: Delays) -> float:
    """Length of a step of that program."""
    return played(program(ranks, delays)).end / STEPS


def test_each_gain_is_that_of_the_program_played_with_those_before_it_fixed(tmp_path: Path) -> None:
    delays = {1: (0.0, 12.0), 2: (8.0, 0.0), 4: (0.0, 3.0)}
    run = analyzed(write(tmp_path / "run", program(6, delays)))
    assert [(row.rank, row.module) for row in run.stragglers] == [(1, "b"), (2, "a"), (4, "b")]
    before = step_ms(6, delays)
    for row in run.stragglers:
        delays = {rank: delay for rank, delay in delays.items() if rank != row.rank}
        left = step_ms(6, delays)
        assert row.left_step_us / 1000 == pytest.approx(left, abs=0.01)
        assert row.gain_us_per_step / 1000 == pytest.approx(before - left, abs=0.01)
        before = left
    waits = [row.wait_caused_us / 1000 for row in run.stragglers]
    assert waits == pytest.approx([(12 * 3 + 4 + 9) / 5, (8 * 4 + 5) / 5, 3.0], abs=0.01)


def test_a_step_that_one_trace_lacks_counts_in_no_mean(tmp_path: Path) -> None:
    run = write(tmp_path / "run", program(4, {1: (0.0, 1000.0)}))
    whole = analyzed(run).stragglers[0]
    cut_last_step(run / "rank3.1.pt.trace.json.gz")
    found = analyzed(run)
    (row,) = found.stragglers
    name = f"ProfilerStep#{STEPS - 1}"
    assert found.warnings == [f"{name} is cut off in the trace of rank 3, and not compared"]
    assert (row.rank, row.share) == (1, pytest.approx(whole.share, rel=0.01))
    assert row.left_step_us == pytest.approx(whole.left_step_us, abs=10)
    assert row.gain_us_per_step == pytest.approx(whole.gain_us_per_step, rel=0.01)


def cut_last_step(file: Path) -> None:
    """End a trace a millisecond after the begin of its last step."""
    trace = json.loads(gzip.decompress(file.read_bytes()))
    rows = trace["traceEvents"]
    end = 1000 + max(row["ts"] for row in rows if row["name"].startswith("ProfilerStep"))
    kept = [{**row, "dur": min(row["dur"], end - row["ts"])} for row in rows if row["ts"] < end]
    file.write_bytes(gzip.compress(json.dumps({**trace, "traceEvents": kept}).encode()))


def test_two_that_are_late_by_the_same_are_both_named_and_only_together_gain(
    tmp_path: Path,
) -> None:
    run = analyzed(write(tmp_path / "run", program(8, {3: (0.0, 10.0), 5: (0.0, 10.0)})))
    first, second = run.stragglers
    assert {first.rank, second.rank} == {3, 5}
    assert (first.module, second.module) == ("b", "b")
    assert first.gain_us_per_step == pytest.approx(0.0, abs=10)
    assert second.gain_us_per_step == pytest.approx(10_000, abs=10)


def test_every_module_of_a_rank_that_is_longer_is_named_and_taken_out(tmp_path: Path) -> None:
    run = analyzed(write(tmp_path / "run", program(4, {2: (6.0, 9.0)})))
    (row,) = run.stragglers
    reasons = [(each.module, round(each.excess_us / 1000, 2)) for each in row.reasons]
    assert reasons == [("b", 9.0), ("a", 6.0)]
    assert (row.module, row.excess_us) == ("b", row.reasons[0].excess_us)
    assert row.gain_us_per_step == pytest.approx(15_000, abs=10)


def test_a_module_that_is_longer_by_a_trifle_is_not_named(tmp_path: Path) -> None:
    (row,) = analyzed(write(tmp_path / "run", program(4, {2: (0.05, 12.0)}))).stragglers
    assert [each.module for each in row.reasons] == ["b"]


def test_of_two_ranks_the_wait_is_that_of_the_one_that_waited(tmp_path: Path) -> None:
    (row,) = analyzed(write(tmp_path / "run", program(2, {0: (0.0, 12.0)}))).stragglers
    assert row.rank == 0
    times = (row.wait_caused_us, row.excess_us, row.gain_us_per_step)
    assert times == pytest.approx((12_000,) * 3, abs=10)


Noise = Callable[[Random], float]
NOISES: Sequence[Noise] = [
    lambda random: random.gauss(1.0, 0.03),
    lambda random: random.lognormvariate(0.0, 0.15),
    lambda random: 1.0 + (random.random() < 0.1) * random.expovariate(2.0),
    lambda random: random.uniform(0.7, 1.3),
]
"""Factors of a duration: a quiet machine, a busy one, one with hiccups, batches of other sizes."""


def noisy(seed: int, delays: Delays) -> Program:
    random = Random(seed)
    noise, ranks = NOISES[seed % len(NOISES)], (2, 4, 8, 3, 6)[seed % 5]

    def vary(step: Step) -> Step:
        a, b = (tuple(noise(random) * time for time in part * 2) for part in (step.a, step.b))
        return step._replace(a=a, b=b, at_once=seed % 2 == 0)

    return [[vary(step) for step in of] for of in program(ranks, delays, STEPS + seed % 4)]


@pytest.mark.parametrize("seed", range(20))
def test_no_straggler_is_named_where_chance_alone_decides(tmp_path: Path, seed: int) -> None:
    run = analyzed(write(tmp_path / "run", noisy(seed, {})))
    assert any(row.late_rank is not None for row in run.collectives)
    assert not run.stragglers


@pytest.mark.parametrize("seed", range(20))
def test_with_the_same_noise_the_rank_that_is_slow_is_named_alone(
    tmp_path: Path, seed: int
) -> None:
    run = analyzed(write(tmp_path / "run", noisy(seed, {1: (0.0, 12.0)})))
    (row,) = run.stragglers
    assert (row.rank, row.module) == (1, "b")


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("longer", [12.0, 0.0])
def test_a_rank_whose_own_work_is_longer_is_named_however_the_others_waits_vary(
    tmp_path: Path, longer: float, ranks: int
) -> None:
    """Others come later now and then, too: as processes that share too few cores do."""
    late = [20.0, 2.0, 11.0, 0.5, 11.5, 3.0]
    run = [
        [
            Step(
                (2.0,), (3.0 + longer * (rank == 1),), at_once=True, last=late[number] * (rank == 1)
            )
            for number in range(len(late))
        ]
        for rank in range(ranks)
    ]
    found = analyzed(write(tmp_path / "run", run)).stragglers
    named = [(row.rank, row.module) for row in found if row.sure]
    assert named == ([(1, "b")] if longer else [])


@pytest.mark.parametrize("longest", [9.0, 1.0])
def test_steps_that_are_too_few_are_said_to_be_with_the_rank_they_suspect(
    tmp_path: Path, longest: float
) -> None:
    two, many = (analyzed(write(tmp_path / str(n), varied(n, longest))) for n in (3, 12))
    (row,) = two.stragglers
    assert (row.rank, row.module, row.sure, row.steps, row.of_steps) == (1, "b", False, 2, 2)
    assert row.gain_us_per_step == pytest.approx(row.excess_us, abs=10)
    (note,) = (text for text in two.warnings if text.startswith("the others waited"))
    assert note.endswith(
        " per step for rank 1 in all of 2 steps, too few to rule out chance; record 8 or more, "
        "as the first warms up"
    )
    waited = format_us(two.suspect_wait_us)
    assert f"the others waited {waited} per step" in note
    assert verdict_sentence(two) == (
        f"Rank 1 may be a straggler: the others wait {waited} per step for it "
        f"({100 * row.share:.1f}%), in 2 of 2 steps, too few to rule out chance."
    )
    assert "more in module b (forward) than the others" in straggler_lines(two.stragglers)[1]
    assert two.suspect_wait_us == row.wait_caused_us
    (ranks,) = (part for part in run_document(two).parts if part.title.startswith("Ranks,"))
    assert ranks.title.endswith("; a delay counts in each collective that waits for it")
    assert [(row.rank, row.sure) for row in many.stragglers] == [(1, True)]
    assert (two.suspect, many.suspect) == (1, None)
    with pytest.raises(UsageError, match="rank 1 may be a straggler"):
        stragglers(two, 0)
    assert (stragglers(two, 1).holds, stragglers(many, 0).holds) == (True, False)
    assert many.suspect_wait_us is None
    assert not [text for text in many.warnings if text.startswith("the others waited")]


def test_in_a_single_step_another_rank_may_be_as_late(tmp_path: Path) -> None:
    """The first one fixed leaves the wait for the other."""
    delays = {1: (0.0, 12.0), 2: (11.0, 0.0)}
    run = analyzed(write(tmp_path / "run", program(6, delays, steps=2)))
    assert ([row.rank for row in run.stragglers], run.suspect) == ([1], 2)
    assert [text for text in run.warnings if " for rank 2 in the only step, too few to " in text]
    alone = analyzed(write(tmp_path / "alone", program(6, {1: (0.0, 12.0)}, steps=2)))
    assert ([row.rank for row in alone.stragglers], alone.suspect) == ([1], None)
    assert verdict_sentence(alone).startswith("Rank 1 may be a straggler: ")
    with pytest.raises(UsageError, match="rank 1 may be a straggler"):
        stragglers(alone, 0)


def test_a_rank_that_may_be_late_by_chance_is_no_change_between_runs(tmp_path: Path) -> None:
    even, few, many = (
        analyzed(write(tmp_path / name, program(3, {1: (0.0, late)}, steps)))
        for name, late, steps in (("even", 0.0, 6), ("few", 12.0, 2), ("many", 12.0, 6))
    )
    assert [compare_runs(even, run).late for run in (few, many)] == [[], [1]]
    assert [compare_runs(run, even).no_longer_late for run in (few, many)] == [[], [1]]


def varied(steps: int, longest: float) -> Program:
    """Three ranks, the second late by some milliseconds or a ninth of that."""
    late = program(3, {1: (0.0, longest)}, steps)
    little = program(3, {1: (0.0, longest / 9)}, steps)
    return [
        [one if at % 2 else other for at, (one, other) in enumerate(zip(a, b, strict=True))]
        for a, b in zip(late, little, strict=True)
    ]


def test_a_mean_of_few_steps_needs_more_standard_errors() -> None:
    late = np.array([4.0, 6.0])
    assert not is_consistent(late)
    assert is_consistent(np.tile(late, 6))
    assert not is_consistent(np.tile(late, 6), scatter=10.0)
    assert not is_consistent(np.zeros(0))


def test_the_latest_of_many_in_every_step_is_no_chance_however_it_varies() -> None:
    late = np.full((64, 3), -1.0)
    late[7] = [10.0, 90.0, 20.0]
    assert latest(late, 100.0, set()) == 7
    assert latest(late[:32], 100.0, set()) == 7
    assert latest(late[6:8], 100.0, set()) is None
    assert latest(late, 100.0, {7}) is None
