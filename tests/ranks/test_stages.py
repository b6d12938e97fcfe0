"""Ranks whose messages no trace pairs: the one that works longest is late."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tb_hookview import RunReport, analyze_run

STEPS = 4


def row(name: str, start: float, time: float, category: str = "cpu_op") -> dict[str, Any]:
    place = {"pid": 1, "tid": 1, "ts": start * 1000, "dur": time * 1000}
    return {"ph": "X", "cat": category, "name": name, **place, "args": {}}


def pipelined(folder: Path, work: Sequence[float]) -> RunReport:
    """Run stages that work for some milliseconds of each step, one after the other.

    stage 0  [m0][recv            ]
    stage 1  [recv][  m1  ][recv  ]
    stage 2  [recv        ][  m2  ]
    """
    step = sum(work)
    for rank, own in enumerate(work):
        before, rows = sum(work[:rank]), []
        for number in range(STEPS):
            at = number * step
            rows.append(row(f"ProfilerStep#{number}", at, step, "user_annotation"))
            rows.append(row(f"m{rank} (Linear) forward ~hv1", at + before, own))
            rows.append(row("aten::mm", at + before, own))
            for start, time in ((at, before), (at + before + own, step - before - own)):
                if time > 0:
                    rows.append(row("gloo:recv", start, time, "user_annotation"))
        info = {"rank": rank, "world_size": len(work)}
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
