"""Real executors: a Dask cluster of processes on this machine."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from click.testing import CliRunner
from ranks.traces import Spell, write_run

from tb_hookview import UsageError, analyze_run
from tb_hookview.cli.ranks import ranks

distributed = pytest.importorskip("distributed", reason="needs dask: pip install distributed")
pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]

SPELLS = [Spell(), Spell(b=9.0), Spell(), Spell()]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
    ) as started:
        yield started


def test_a_cluster_answers_as_this_machine_does(tmp_path: Path, cluster: Any) -> None:
    write_run(tmp_path, SPELLS)
    there = analyze_run(tmp_path, f"dask:{cluster.scheduler_address}")
    assert there.data == analyze_run(tmp_path, "processes:1").data
    assert there.stragglers[0].module == "b"


def test_a_client_is_an_executor(tmp_path: Path, cluster: Any) -> None:
    write_run(tmp_path, SPELLS)
    with distributed.Client(cluster) as client:
        there = analyze_run(tmp_path, client.get_executor())
    assert len(there.ranks) == 4


def test_a_worker_killed_in_the_middle_loses_nothing(tmp_path: Path, cluster: Any) -> None:
    write_run(tmp_path, [SPELLS[0], *SPELLS] * 4)
    killed = []

    def kill_one(_stage: str, done: float) -> None:
        if done and not killed:
            with distributed.Client(cluster) as client:
                killed.extend(client.run(os.getpid).values())
            os.kill(killed[0], signal.SIGKILL)

    run = analyze_run(tmp_path, f"dask:{cluster.scheduler_address}", progress=kill_one)
    assert killed
    assert not run.data.unreadable
    assert len(run.ranks) == 20


def test_a_scheduler_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    write_run(tmp_path, SPELLS)
    said = CliRunner().invoke(ranks, [str(tmp_path), "--executor", "dask:tcp://127.0.0.1:9"])
    assert isinstance(said.exception, UsageError)
    assert "no Dask scheduler at tcp://127.0.0.1:9" in str(said.exception)


def test_a_scheduler_that_goes_away_is_one_line(tmp_path: Path) -> None:
    write_run(tmp_path, SPELLS * 8)
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=50
    )
    closing: list[Thread] = []

    def close(_stage: str, done: float) -> None:
        if done and not closing:
            closing.append(Thread(target=cluster.close))
            closing[0].start()
            closing[0].join()

    with pytest.raises(UsageError, match="the executor was lost after"):
        analyze_run(tmp_path, f"dask:{cluster.scheduler_address}", progress=close)


MPIEXEC = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")


@pytest.mark.skipif(MPIEXEC is None, reason="needs an MPI: pip install mpich mpi4py")
def test_two_processes_of_mpi_answer_as_this_machine_does(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py", reason="needs mpi4py: pip install mpi4py")
    write_run(tmp_path, SPELLS)
    script = tmp_path / "hookview.py"
    script.write_text('from tb_hookview.cli import main\nif __name__ == "__main__":\n    main()\n')
    command = [MPIEXEC, "-n", "2", sys.executable, "-m", "mpi4py.futures", str(script)]
    arguments = ["ranks", str(tmp_path), "--json", "--executor", "mpi"]
    done = subprocess.run(
        [*command, *arguments], cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == analyze_run(tmp_path, "processes:1").to_json()


def test_mpi_that_is_not_there_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mpi4py.futures", None)
    with pytest.raises(UsageError, match="mpi4py cannot be used"):
        analyze_run(write_run(tmp_path, SPELLS), "mpi")
