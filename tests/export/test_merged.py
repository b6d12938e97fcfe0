"""One collective on several ranks as one trace: all leave it together, whatever their clocks."""

from __future__ import annotations

import gzip
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from ranks.traces import Spell, write_run

import tb_hookview as hookview
from tb_hookview.cli.ranks import ranks
from tb_hookview.errors import NotFoundError, UsageError
from tb_hookview.export.merged import write_merged
from tb_hookview.ranks.result import RunReport
from tb_hookview.ranks.together import MOST_RANKS

CLOCKS = [0.0, 700.0, -300.0]


def run_of(folder: Path, spells: list[Spell], clocks: list[float] | None = None) -> RunReport:
    write_run(folder, spells, clocks=clocks or [0.0] * len(spells))
    with ThreadPoolExecutor(1) as executor:
        return hookview.analyze_run(folder, executor)


@pytest.fixture
def run(tmp_path: Path) -> RunReport:
    return run_of(tmp_path / "run", [Spell(), Spell(b=9.0), Spell()], CLOCKS)


def kernels(out: Path) -> dict[str, dict[str, Any]]:
    """Kernels by the name of their process."""
    events = json.loads(out.read_bytes())["traceEvents"]
    process = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    return {process[e["pid"]]: e for e in events if e.get("cat") == "kernel"}


def test_ranks_leave_the_collective_together_and_the_late_one_came_last(
    tmp_path: Path, run: RunReport
) -> None:
    out = tmp_path / "merged.json"
    merged = write_merged(run, out, collective=2)
    assert (merged.ranks, merged.spread_us) == ([0, 1, 2], pytest.approx(0, abs=0.01))
    found = kernels(out)
    assert {name.split(":")[0] for name in found} == {"rank 0", "rank 1", "rank 2"}
    starts = [event["ts"] for event in found.values()]
    ends = [event["ts"] + event["dur"] for event in found.values()]
    assert ends == pytest.approx([ends[0]] * 3, abs=0.01)
    wait = merged.collective.wait_us
    assert starts[1] - starts[0] == pytest.approx(wait, abs=0.01)
    assert starts[1] - starts[2] == pytest.approx(wait, abs=0.01)


def test_a_merged_trace_is_a_trace(tmp_path: Path, run: RunReport) -> None:
    out = tmp_path / "merged.json.gz"
    merged = write_merged(run, out)
    assert merged.collective.wait_us == max(row.wait_us for row in run.data.collectives)
    assert json.loads(gzip.decompress(out.read_bytes()))["traceEvents"]
    assert len(hookview.analyze(out).table("device_events")) >= 3


def test_clocks_that_are_known_worse_than_the_wait_make_no_timeline(
    tmp_path: Path, run: RunReport
) -> None:
    out = tmp_path / "merged.json"
    longer = max(row.wait_us for row in run.data.collectives) + 1
    for spread, reason in ((longer, "their clocks are known to"), (None, "clock of rank 2 is un")):
        *others, last = run.data.ranks
        doubted = [*others, msgspec.structs.replace(last, clock_spread_us=spread)]
        data = msgspec.structs.replace(run.data, ranks=doubted)
        with pytest.raises(UsageError, match=reason):
            write_merged(RunReport(data, run.members), out)
    assert not out.exists()


def test_no_late_rank_is_one_line(tmp_path: Path, run: RunReport) -> None:
    with pytest.raises(NotFoundError, match="no collective 99 with"):
        write_merged(run, tmp_path / "a.json", collective=99)
    even = run_of(tmp_path / "even", [Spell(), Spell()])
    with pytest.raises(NotFoundError, match="no collective with a straggler"):
        write_merged(even, tmp_path / "a.json")


def test_of_many_ranks_the_late_one_and_some_others_are_shown(tmp_path: Path) -> None:
    spells = [Spell(b=9.0) if rank == 13 else Spell() for rank in range(MOST_RANKS + 4)]
    merged = write_merged(run_of(tmp_path / "run", spells), tmp_path / "merged.json")
    assert len(merged.ranks) == MOST_RANKS
    assert 13 in merged.ranks


def test_the_command_writes_it(tmp_path: Path, run: RunReport) -> None:
    out = tmp_path / "merged.json"
    done = CliRunner().invoke(ranks, [run.data.path, "--executor=processes:1", f"--timeline={out}"])
    assert done.exit_code == 0, done.output
    assert "on 3 of 3 ranks" in done.output
    assert "clocks known to" in done.output
    assert len(kernels(out)) == 3
    alone = CliRunner().invoke(ranks, [run.data.path, "--collective", "1"])
    assert alone.exit_code == 2
    assert "of --timeline" in alone.output
