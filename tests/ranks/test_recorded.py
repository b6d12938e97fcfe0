"""Four processes train together (gloo, CPU); a module of one rank is slow, or none is."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.mesh_run import STEPS as STEPS_OF_MESH
from support.ranks import run_forked_ranks
from support.slowed_run import CASES, METHODS, SLEEP_S, SLOW
from torch_tb_profiler.profiler.data import DistributedRunProfileData, RunProfileData
from torch_tb_profiler.profiler.loader import RunLoader

from tb_hookview import RunReport, analyze, analyze_run

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).parents[1] / "support" / "slowed_run.py"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("slowed")
    run_forked_ranks([PROGRAM, folder], folder, size=4, OMP_NUM_THREADS="1")
    return folder


def read(folder: Path) -> RunReport:
    with ThreadPoolExecutor(1) as executor:
        return analyze_run(folder, executor)


@pytest.mark.parametrize("case", CASES[1:])
@pytest.mark.parametrize("method", METHODS)
def test_the_slow_rank_and_its_module_are_named(recorded: Path, method: str, case: str) -> None:
    (straggler,) = read(recorded / f"{method}-{case}").stragglers
    assert straggler.rank == SLOW
    assert straggler.module is not None
    assert straggler.module.rpartition(".")[2] == "1"
    assert straggler.wait_caused_us > SLEEP_S / 2 * 1e6


@pytest.mark.parametrize("case", CASES[1:])
@pytest.mark.parametrize("method", METHODS)
def test_a_run_without_the_slow_module_gains_the_time_that_it_was_slowed_by(
    recorded: Path, method: str, case: str
) -> None:
    run = read(recorded / f"{method}-{case}")
    (straggler,) = run.stragglers
    assert SLEEP_S / 2 * 1e6 < straggler.gain_us_per_step <= straggler.excess_us
    if method != "pipeline":
        assert run.data.replay_error is not None
        assert run.data.replay_error < 0.2


@pytest.mark.parametrize("method", METHODS)
def test_no_module_is_named_where_none_is_slow(recorded: Path, method: str) -> None:
    """A busy machine may keep one process from its core in most steps: that is no module's."""
    run = read(recorded / f"{method}-even")
    assert len(run.ranks) == 4
    assert not [row for row in run.stragglers if row.wait_caused_us > SLEEP_S / 2 * 1e6]


@pytest.mark.filterwarnings("ignore:The copy keyword is deprecated")
@pytest.mark.parametrize("case", CASES)
def test_torch_tb_profiler_has_the_same_times(recorded: Path, case: str) -> None:
    """Its distributed view: time in collectives by step and rank, transfer of each collective."""
    run = read(recorded / f"ddp-{case}")
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
        assert [row.communication_us for row in mine] == pytest.approx(theirs, abs=0.01)
        transfers = [
            end - start for node in data.comm_node_list for start, end in node.real_time_ranges
        ]
        ours = [row.transfer_us for row in run.collectives]
        assert sorted(ours) == pytest.approx(sorted(transfers), abs=0.01)


@pytest.mark.parametrize("method", METHODS)
def test_the_others_wait_and_the_slow_rank_does_not(recorded: Path, method: str) -> None:
    waits = {}
    for path in sorted((recorded / f"{method}-forward").glob("*.gz")):
        report = analyze(path)
        waits[report.data.trace.rank] = report.counted.data.per_step.communication_wait_us or 0.0
        for step in report.steps:
            assert 0 <= (step.communication_wait_us or 0.0) <= step.duration_us
    others = [wait for rank, wait in waits.items() if rank != SLOW]
    assert min(others) > waits[SLOW]
    assert min(others) > SLEEP_S / 2 * 1e6


EIGHT, LONGER_S = 8, "0.6"
"""Processes, and seconds by which one is slowed: on few cores they keep each other waiting."""


@pytest.fixture(scope="module")
def eight(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("eight")
    longer = {"OMP_NUM_THREADS": "1", "SLOWED_S": LONGER_S}
    run_forked_ranks([PROGRAM, folder, "ddp", "fsdp"], folder, size=EIGHT, **longer)
    return folder


@pytest.mark.parametrize("method", ["ddp", "fsdp"])
def test_of_eight_processes_the_slow_one_and_its_module_are_named(eight: Path, method: str) -> None:
    for case in CASES[1:]:
        run = read(eight / f"{method}-{case}")
        assert len(run.ranks) == EIGHT
        (straggler,) = run.stragglers
        assert straggler.rank == SLOW
        assert straggler.module is not None
        assert straggler.module.rpartition(".")[2] == "1"
    even = read(eight / f"{method}-even")
    assert not [row for row in even.stragglers if row.wait_caused_us > float(LONGER_S) / 2 * 1e6]


def test_collectives_of_a_mesh_without_names_are_not_taken_for_those_of_all(tmp_path: Path) -> None:
    """Gloo's rows name no group: of two by two ranks each is in one with two different others."""
    mesh = PROGRAM.with_name("mesh_run.py")
    run_forked_ranks([mesh, tmp_path], tmp_path, size=4, OMP_NUM_THREADS="1")
    run = read(tmp_path / "run").data
    assert (len(run.ranks), run.collectives, run.stragglers) == (4, [], [])
    assert run.unmatched == 4 * 2 * STEPS_OF_MESH
    (warning,) = run.warnings
    assert "is in 3 process groups of different ranks" in warning
