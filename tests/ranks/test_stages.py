"""Ranks whose messages no trace pairs: the one that works longest is late."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from ranks.traces import Spell, write_run

from tb_hookview import RunReport, analyze_run
from tb_hookview.ranks.document import straggler_lines
from tb_hookview.schema import StageWork

STEPS, SENT, NOTE = 4, 0.001, "user_annotation"


def row(name: str, start: float, time: float, category: str = "cpu_op") -> dict[str, Any]:
    place = {"pid": 1, "tid": 1, "ts": start * 1000, "dur": time * 1000}
    return {"ph": "X", "cat": category, "name": name, **place, "args": {}}


def pipelined(
    folder: Path, work: Sequence[float], steps: int = STEPS, varied: int = -1
) -> RunReport:
    """Run stages that work for some milliseconds of each step, one after the other.

    One of them may work longer, by 8 or 16 ms in turns.

    stage 0  [m0][recv            ]
    stage 1  [recv][  m1  ][recv  ]
    stage 2  [recv        ][  m2  ]
    """
    found: list[list[dict[str, Any]]] = [[] for _ in work]
    at = 0.0
    for number in range(steps):
        times = [own + 8.0 * (1 + number % 2) * (rank == varied) for rank, own in enumerate(work)]
        step = sum(times)
        for rank, own in enumerate(times):
            before, rows = sum(times[:rank]), found[rank]
            rows.append(row(f"ProfilerStep#{number}", at, step, NOTE))
            rows.append(row(f"m{rank} (Linear) forward ~hv1", at + before, own))
            rows.append(row("aten::mm", at + before, own))
            for start, time in ((at, before), (at + before + own, step - before - own)):
                if time > 0:
                    rows.append(row("gloo:recv", start, time, NOTE))
        at += step
    return read(folder, found)


def read(folder: Path, ranks: Sequence[Sequence[dict[str, Any]]]) -> RunReport:
    """Write and read the rows of each rank."""
    for rank, rows in enumerate(ranks):
        info = {"rank": rank, "world_size": len(ranks)}
        text = json.dumps({"distributedInfo": info, "traceEvents": rows})
        (folder / f"rank{rank}.1.pt.trace.json.gz").write_bytes(gzip.compress(text.encode()))
    with ThreadPoolExecutor(1) as executor:
        return analyze_run(folder, executor)


def test_stages_that_work_equally_long_keep_nobody_waiting(tmp_path: Path) -> None:
    run = pipelined(tmp_path, [5.0, 5.0, 5.0, 5.0])
    assert not run.stragglers
    assert not run.collectives
    assert [rank.wait_us for rank in run.ranks] == [0.0] * 4


@pytest.mark.parametrize("slow", range(4))
def test_a_stage_that_works_longer_is_late_by_that(tmp_path: Path, slow: int) -> None:
    work = [5.0] * 4
    work[slow] = 12.0
    run = pipelined(tmp_path, work)
    (straggler,) = run.stragglers
    assert (straggler.rank, straggler.module) == (slow, f"m{slow}")
    assert straggler.wait_caused_us == pytest.approx(7000, abs=1)
    assert straggler.gain_us_per_step == pytest.approx(7000, abs=1)
    waits = [rank.wait_us for rank in run.ranks]
    assert waits == pytest.approx([0.0 if rank == slow else 7000.0 for rank in range(4)], abs=1)


def test_two_stages_the_waits_are_those_of_the_rank_that_waited(tmp_path: Path) -> None:
    """Not a median over both, which halves them."""
    (straggler,) = pipelined(tmp_path, [12.0, 5.0]).stragglers
    assert straggler.rank == 0
    assert straggler.wait_caused_us == pytest.approx(7000, abs=1)


def even(_rank: int, _batch: int, *, forward: bool) -> float:
    """Milliseconds of a microbatch in a stage."""
    return 1.0 if forward else 2.0


def gpipe(
    folder: Path,
    stages: int,
    microbatches: int,
    work: Callable[..., float] = even,
    *,
    marked: bool = True,
    steps: int = STEPS,
) -> RunReport:
    """Run GPipe's schedule.

    Args:
        folder: where the traces go.
        stages: of the pipeline, one on each rank.
        microbatches: of each step.
        work: as `even`.
        marked: whether ranges name the forward and the backward of each microbatch.
        steps: of the recording.
    """
    rows: list[list[dict[str, Any]]] = [[] for _ in range(stages)]
    free = [0.0] * stages
    for number in range(steps):
        begun = list(free)
        for forward, batch in product((True, False), range(microbatches)):
            order = list(range(stages)) if forward else list(range(stages - 1, -1, -1))
            came = free[order[0]]
            for rank in order:
                if rank != order[0]:
                    came = max(came, free[rank] + SENT)
                    rows[rank].append(row("gloo:recv", free[rank], came - free[rank], NOTE))
                time = work(rank, batch, forward=forward)
                name = f"{'Forward' if forward else 'Backward'} {batch}"
                rows[rank] += [row(name, came, time, NOTE)] * marked
                rows[rank].append(row(f"m{rank} (Linear) forward ~hv1", came, time))
                rows[rank].append(row("aten::mm", came, time))
                if rank != order[-1]:
                    rows[rank].append(row("gloo:send", came + time, SENT, NOTE))
                free[rank] = came = came + time + SENT * (rank != order[-1])
        for rank in range(stages):
            rows[rank].append(
                row(f"ProfilerStep#{number}", begun[rank], free[rank] - begun[rank], NOTE)
            )
    return read(folder, rows)


@pytest.mark.parametrize("marked", [True, False], ids=["by ranges", "by messages"])
@pytest.mark.parametrize(("stages", "microbatches"), [(2, 1), (2, 6), (4, 1), (4, 8)])
def test_the_bubble_of_even_stages_is_that_of_the_formula(
    tmp_path: Path, stages: int, microbatches: int, *, marked: bool
) -> None:
    run = gpipe(tmp_path, stages, microbatches, marked=marked)
    (pipeline,) = run.data.pipelines
    assert pipeline.ranks == list(range(stages))
    assert pipeline.microbatches == microbatches
    ideal = (stages - 1) / (microbatches + stages - 1)
    assert pipeline.ideal_bubble == pytest.approx(ideal)
    assert pipeline.bubbles == pytest.approx([ideal] * stages, abs=0.01)
    assert not run.stragglers


def test_the_bubble_of_an_uneven_stage_is_larger_and_the_stage_is_named(tmp_path: Path) -> None:
    run = gpipe(
        tmp_path,
        4,
        8,
        lambda rank, _, *, forward: 1.0 if forward else 2.0 + (rank == 3),
    )
    (pipeline,) = run.data.pipelines
    assert pipeline.bubble > (pipeline.ideal_bubble or 1.0) + 0.05
    assert pipeline.bubbles[3] < min(pipeline.bubbles[:3]) - 0.1
    (straggler,) = run.stragglers
    assert (straggler.rank, straggler.module) == (3, "m3")
    assert straggler.excess_us == pytest.approx(8000, abs=1)
    assert straggler.gain_us_per_step == pytest.approx(8000, rel=0.05)
    assert straggler_lines(run.stragglers)[0].startswith("rank 3 is a straggler")
    assert straggler.stage == StageWork(
        stage=3,
        direction="backward",
        microbatches=list(range(8)),
        of_microbatches=8,
        time_us=3000,
        usual_us=2000,
    )
    assert "pipeline of 4 ranks, 8 microbatches per step: " in str(run)
    assert "stage 3, backward of all 8 microbatches: 3.00 ms each, on the other stages 2.0" in str(
        run
    )


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize(("stage", "slow"), [(0, [0]), (1, [2]), (2, [1, 3])])
def test_slow_microbatches_are_named_with_their_stage_and_direction(
    tmp_path: Path, stage: int, slow: list[int], *, forward: bool
) -> None:
    def work(rank: int, batch: int, **of: bool) -> float:
        is_slow = rank == stage and batch in slow and of["forward"] == forward
        return even(rank, batch, **of) + 6.0 * is_slow

    (straggler,) = gpipe(tmp_path, 3, 4, work).stragglers
    found = straggler.stage
    assert straggler.rank == stage
    assert found is not None
    assert (found.stage, found.direction) == (stage, "forward" if forward else "backward")
    assert found.microbatches == slow
    assert (found.time_us - found.usual_us, found.of_microbatches) == (pytest.approx(6000), 4)
    numbers = " and ".join(map(str, slow))
    assert f"microbatch{'es' * (len(slow) > 1)} {numbers} of 0 to 3: " in str(
        straggler_lines([straggler])
    )


def test_a_slow_microbatch_is_named_although_the_others_wait_by_chance(tmp_path: Path) -> None:
    """One in 20 of the others takes up to 30 ms longer; its forward 8 ms in every step."""
    random = Random(0)

    def work(rank: int, batch: int, **of: bool) -> float:
        noise = random.uniform(0.0, 30.0) * (random.random() < 0.05)
        is_slow = (rank, batch, of["forward"]) == (1, 2, True)
        return even(rank, batch, **of) + (8.0 if is_slow else noise)

    run = gpipe(tmp_path, 3, 8, work, steps=10)
    (straggler,) = run.stragglers
    assert straggler.steps < straggler.of_steps
    assert straggler.stage is not None
    assert (straggler.rank, straggler.stage.microbatches) == (1, [2])
    assert "Forward" not in str(run)  # the ranges of the schedule are no modules


@pytest.mark.parametrize("seed", range(20))
def test_no_stage_is_named_in_an_even_run(tmp_path: Path, seed: int) -> None:
    """Each microbatch takes up to 40% longer than another, by chance."""
    random = Random(seed)

    def work(rank: int, batch: int, **of: bool) -> float:
        return even(rank, batch, **of) * random.uniform(0.8, 1.2)

    stages, microbatches = random.randint(2, 4), random.choice([2, 4, 8])
    run = gpipe(tmp_path, stages, microbatches, work, steps=random.randint(4, 10))
    assert [straggler for straggler in run.stragglers if straggler.sure] == []


def test_collectives_of_all_ranks_make_no_pipeline(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as executor:
        run = analyze_run(write_run(tmp_path / "run", [Spell(), Spell(b=9.0)]), executor)
    assert run.data.pipelines == []


@pytest.mark.parametrize("steps", [3, 12])
@pytest.mark.parametrize("slow", range(3))
def test_a_stage_is_suspected_until_there_are_enough_steps(
    tmp_path: Path, slow: int, steps: int
) -> None:
    """Later by 8 or 16 ms: the same in each step would be no chance."""
    run = pipelined(tmp_path, [5.0] * 3, steps, slow)
    notes = [text for text in run.data.warnings if text.startswith("the others waited")]
    named = [straggler.rank for straggler in run.stragglers if straggler.sure]
    if steps == 12:
        assert (named, notes) == ([slow], [])
    else:
        assert named == []
        assert [straggler.rank for straggler in run.stragglers] == [slow]
        assert [f" per step for rank {slow} in all of 2 steps" in note for note in notes] == [True]
