"""Four processes train together (gloo, CPU); then one of them is held up in a module, or all are.

What is recorded is real, and so is which rank waits for which. The delays are put into the
recordings (`support.held_up`): whoever is on time in a recording is on time by chance.
"""

from __future__ import annotations

import gzip
import json
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from pathlib import Path

import pytest
from support.held_up import hold_up
from support.ranks import run_forked_ranks
from support.slowed_run import METHODS, MICROBATCHES, SLOW, STEPS
from torch_tb_profiler.profiler.data import DistributedRunProfileData, RunProfileData
from torch_tb_profiler.profiler.loader import RunLoader

from tb_hookview import RunReport, analyze, analyze_run

PROGRAM = Path(__file__).parents[1] / "support" / "slowed_run.py"
SIZE, BLOCKS = 4, 3
ROWS = {
    "forward": "Slowed",
    "backward": "autograd::engine::evaluate_function: SlowedBackward",
}
"""Names of rows of which each module has one."""
NOISE = 0.02
"""Of a delay: all that a machine can do is 1 in `held_up.LONGER`, before and after."""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("even")
    runs = [f"{method}-even" for method in (*METHODS, "gpipe", "mesh")]
    run_forked_ranks([PROGRAM, folder, *runs], folder, size=SIZE, OMP_NUM_THREADS="1")
    return folder


class Held:
    """Runs in which some ranks are held up in their module 1, each made once."""

    def __init__(self, recorded: Path, folder: Path) -> None:
        self._recorded, self._folder = recorded, folder
        self._made: dict[Path, float] = {}

    def run(
        self, method: str, case: str, ranks: tuple[int, ...] = (SLOW,), microbatch: int = 0
    ) -> tuple[Path, float]:
        """Folder of the traces, and microseconds by which each of the ranks is held up."""
        folder = self._folder / f"{method}-{case}-{len(ranks)}-{microbatch}"
        if folder not in self._made:
            self._made[folder] = hold_up(
                self._recorded / f"{method}-even",
                folder,
                ROWS[case],
                ranks,
                partners=PARTNERS.get(method),
                until="Optimizer.step" if method == "ddp" else None,
                which=BLOCKS * microbatch + 1,
            )
        return folder, self._made[folder]


def stages(rank: int, ranks: int) -> list[object]:
    """Messages of a stage in a step: direction, and the first of the two stages."""
    before, after = rank > 0, rank < ranks - 1
    there = [("forward", rank - 1)] * before + [("forward", rank)] * after
    return [*there, *[("backward", rank)] * after, *[("backward", rank - 1)] * before]


def microbatches(rank: int, ranks: int) -> list[object]:
    """Messages of a stage of torch's schedule in a step."""
    before, after = rank > 0, rank < ranks - 1
    forward = [("forward", rank - 1)] * before + [("forward", rank)] * after
    backward = [("backward", rank)] * after + [("backward", rank - 1)] * before
    return [
        (*message, number)
        for messages in (forward, backward)
        for number in range(MICROBATCHES)
        for message in messages
    ]


PARTNERS = {"pipeline": stages, "gpipe": microbatches}


@pytest.fixture(scope="module")
def held(recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> Held:
    return Held(recorded, tmp_path_factory.mktemp("held"))


def read(folder: Path) -> RunReport:
    with ThreadPoolExecutor(1) as executor:
        return analyze_run(folder, executor)


@pytest.mark.parametrize("case", ROWS)
@pytest.mark.parametrize("method", METHODS)
def test_the_slow_rank_and_its_module_are_named_and_the_gain_is_the_delay(
    held: Held, method: str, case: str
) -> None:
    folder, delay = held.run(method, case)
    run = read(folder)
    (straggler,) = run.stragglers
    assert straggler.rank == SLOW
    assert straggler.module is not None
    assert straggler.module.rpartition(".")[2] == "1"
    times = (straggler.wait_caused_us, straggler.excess_us, straggler.gain_us_per_step)
    assert times == pytest.approx((delay,) * 3, rel=NOISE)
    if method != "pipeline":  # its messages name no peer: steps are compared as a whole
        assert run.data.replay_error == pytest.approx(0, abs=NOISE)


@pytest.mark.parametrize("case", ROWS)
def test_the_microbatch_of_a_slow_module_is_named_with_its_stage(held: Held, case: str) -> None:
    folder, delay = held.run("gpipe", case, microbatch=2)
    run = read(folder)
    (straggler,) = run.stragglers
    assert straggler.module is not None
    assert straggler.stage is not None
    assert (straggler.rank, straggler.module.rpartition(".")[2]) == (SLOW, "1")
    assert (straggler.stage.stage, straggler.stage.direction) == (SLOW, case)
    assert (straggler.stage.microbatches, straggler.stage.of_microbatches) == ([2], MICROBATCHES)
    assert straggler.stage.time_us == pytest.approx(delay, rel=NOISE)
    (pipeline,) = run.data.pipelines
    assert (pipeline.ranks, pipeline.microbatches) == ([0, 1, 2, 3], MICROBATCHES)


@pytest.mark.parametrize("method", ["ddp", "fsdp"])
def test_of_two_ranks_that_are_as_slow_both_are_named_and_only_together_gain(
    held: Held, method: str
) -> None:
    folder, delay = held.run(method, "forward", (0, SLOW))
    first, second = read(folder).stragglers
    assert {first.rank, second.rank} == {0, SLOW}
    gains = (first.gain_us_per_step, second.gain_us_per_step)
    assert gains == pytest.approx((0.0, delay), abs=NOISE * delay)


@pytest.mark.parametrize(("method", "case"), [*zip((*METHODS, "gpipe"), cycle(ROWS))])
def test_no_rank_is_late_where_all_are_as_slow(held: Held, method: str, case: str) -> None:
    folder, _ = held.run(method, case, tuple(range(SIZE)))
    run = read(folder)
    assert len(run.ranks) == SIZE
    assert list(run.stragglers) == []


@pytest.mark.filterwarnings("ignore:The copy keyword is deprecated")
@pytest.mark.parametrize("case", ["even", *ROWS])
def test_torch_tb_profiler_has_the_same_times(held: Held, recorded: Path, case: str) -> None:
    """Its distributed view: time in collectives by step and rank, transfer of each collective."""
    run = read(recorded / "ddp-even" if case == "even" else held.run("ddp", case)[0])
    paths = [row.path for row in run.ranks]
    parsed = [
        DistributedRunProfileData(RunProfileData.parse(f"w{rank}", None, path, None))
        for rank, path in enumerate(paths)
    ]
    loader = object.__new__(RunLoader)
    assert loader._process_distributed_profiles(parsed, None)
    for rank, data in enumerate(parsed):
        mine = [row for row in run.steps if row.rank_id == rank]
        theirs = [costs.communication for costs in data.comm_overlap_costs]
        more = [row.communication_us - time for row, time in zip(mine, theirs, strict=True)]
        assert min(more) > -0.01
        assert max(more) <= _between_marks(paths[rank]) + 0.01
        transfers = [
            end - start for node in data.comm_node_list for start, end in node.real_time_ranges
        ]
        ours = [row.transfer_us for row in run.collectives]
        assert sorted(ours) == pytest.approx(sorted(transfers), abs=0.01)


def _between_marks(path: str) -> float:
    """Time of collectives in no mark of a step, microseconds: it leaves them out, we do not."""
    rows = json.loads(gzip.decompress(Path(path).read_bytes()))["traceEvents"]
    rows = [(row["name"], row["ts"], row["ts"] + row["dur"]) for row in rows if row["ph"] == "X"]
    marks = [(start, end) for name, start, end in rows if name.startswith("ProfilerStep")]
    outside = 0.0
    for name, start, end in rows:
        if name.startswith("gloo:"):
            inside = [max(min(end, until) - max(start, begin), 0.0) for begin, until in marks]
            outside += end - start - sum(inside)
    return outside


@pytest.mark.parametrize("method", METHODS)
def test_the_others_wait_and_the_slow_rank_does_not(held: Held, method: str) -> None:
    folder, delay = held.run(method, "forward")
    waits = {}
    for path in sorted(folder.glob("*.gz")):
        report = analyze(path)
        waits[report.data.trace.rank] = report.counted.data.per_step.communication_wait_us or 0.0
        for step in report.steps:
            assert 0 <= (step.communication_wait_us or 0.0) <= step.duration_us
    expected = {rank: 0.0 if rank == SLOW else delay for rank in range(SIZE)}
    assert waits == pytest.approx(expected, rel=NOISE, abs=NOISE * delay)


def test_collectives_of_a_mesh_without_names_are_not_taken_for_those_of_all(
    recorded: Path,
) -> None:
    """Gloo's rows name no group: of two by two ranks each is in one with two different others."""
    run = read(recorded / "mesh-even").data
    assert (len(run.ranks), run.collectives, run.stragglers) == (SIZE, [], [])
    assert run.unmatched == SIZE * 2 * STEPS
    (warning,) = run.warnings
    assert "is in 3 process groups of different ranks" in warning
