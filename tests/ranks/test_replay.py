"""What a run gains without its late rank: by replay, and by playing the program without it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from ranks.programs import drawn, played, slowed, write

from tb_hookview.ranks.lateness import find_waits
from tb_hookview.ranks.map.summary import Mapped
from tb_hookview.ranks.matching import match
from tb_hookview.ranks.replay import Replay
from tb_hookview.ranks.run import analyze_run, summarize_file
from tb_hookview.trace.source.file import trace_file

RANKS, STEPS, SLOW = 4, 5, 2


def replay_of(folder: Path) -> Replay:
    summaries = [summarize_file(trace_file(path)) for path in sorted(folder.glob("*.gz"))]
    ranks = [mapped.summary for mapped in summaries if isinstance(mapped, Mapped)]
    assert len(ranks) == RANKS
    matched = match(ranks)
    return Replay(ranks, matched, find_waits(matched.members))


@pytest.mark.parametrize("seed", range(12))
def test_nothing_changed_takes_as_long_as_it_took(tmp_path: Path, seed: int) -> None:
    program = slowed(drawn(seed, RANKS, STEPS), SLOW, 5.0, range(STEPS))
    replayed = replay_of(write(tmp_path / "run", program)).play().length / 1e6
    assert replayed == pytest.approx(played(program).end, rel=1e-6)


@pytest.mark.parametrize("by", [4.0, 30.0])
@pytest.mark.parametrize("seed", range(12))
def test_without_its_late_rank_a_run_gains_what_it_was_slowed_by(
    tmp_path: Path, seed: int, by: float
) -> None:
    """The others are late now and then too: not all of what the rank loses is gained."""
    healthy = drawn(seed, RANKS, STEPS)
    program = slowed(healthy, SLOW, by, range(STEPS))
    with ThreadPoolExecutor(1) as executor:
        run = analyze_run(write(tmp_path / "run", program), executor)
    if not run.stragglers:
        assert by < 10.0
        return
    (straggler,) = run.stragglers
    assert (straggler.rank, straggler.module) == (SLOW, "b")
    counted = range(1, STEPS)
    truth = played(program).end - played(slowed(program, SLOW, -by, counted)).end
    assert straggler.gain_us_per_step * len(counted) / 1000 == pytest.approx(truth, abs=0.01)
    assert {row.steps for row in run.ranks} == {len(counted)}
    assert run.data.replay_error == pytest.approx(0.0, abs=1e-6)
