"""Figures of runs of several ranks by torch_tb_profiler and HolisticTraceAnalysis next to ours.

Where they differ, ours is counted the other's way by one of these facts:
`calls`: a collective is the annotation on the host that calls it, of five names, not what runs on
the device;
`always`: as many ranks are named as are asked for: those whose last long kernel of the one kind
that differs most starts last, by one clock.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from comparison.asking import NEAR, ask, same, shown, table
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.collectives.calls import find_collectives
from tb_hookview.arrays import intervals
from tb_hookview.loading import load
from tb_hookview.ranks.run import analyze_run
from tb_hookview.schema import Run

HEAD = ("run", "figure", "other", "its figure", "hookview", "difference")
RANKS = 4
_RECORDER = Path(__file__).resolve().parents[2] / "tests" / "support" / "slowed_run.py"
_CALLS = re.compile(r"(?:nccl|gloo):(?:broadcast|reduce|all_reduce|all_gather|reduce_scatter)")
_LONG = 0.01
"""Part of a step from which a kernel is long."""


def record(folder: Path) -> Path:
    """Record four processes under DistributedDataParallel over gloo, one of them slow."""
    loopback = "lo0" if sys.platform == "darwin" else "lo"
    shared = {**os.environ, "GLOO_SOCKET_IFNAME": loopback, "OMP_NUM_THREADS": "1"}
    ranks = [
        subprocess.Popen(
            [sys.executable, str(_RECORDER), str(folder), "ddp"],
            env={**shared, "RANK": str(rank), "WORLD_SIZE": str(RANKS)},
            stderr=subprocess.DEVNULL,
        )
        for rank in range(RANKS)
    ]
    ended = [rank.wait() for rank in ranks]
    if any(ended):
        raise SystemExit("agreement.py: the run could not be recorded")
    return folder / "ddp-backward"


def gathered(paths: list[Path], folder: Path) -> Path:
    """The traces of some ranks as a run in a folder of its own."""
    folder.mkdir()
    for rank, path in enumerate(paths):
        shutil.copyfile(path, folder / f"rank{rank}.1.pt.trace.json.gz")
    return folder


def compare(python: Path, runs: dict[str, Path]) -> str:
    """A table of all runs."""
    return table(HEAD, (row for name, path in runs.items() for row in _rows(python, name, path)))


def _rows(python: Path, name: str, folder: Path) -> Iterator[list[str]]:
    run = analyze_run(folder, "processes:1").data
    paths = [Path(row.path) for row in run.ranks]
    hta, tbp = (ask(python, peer, *paths) for peer in ("hta_run", "tbp_run"))
    made = [load(path) for path in paths]
    for figure, other, left, right, ways in _figures(run, made, hta, tbp):
        fact = "none" if same(left, right, NEAR if figure.endswith("us") else 0.01) else None
        fact = fact or next(
            (f"`{f}`" for f, counted in ways if same(left, counted)), "not explained"
        )
        yield [name, figure, other, shown(left), shown(right), fact]


def _figures(
    run: Run, made: list[Analysis], hta: dict[str, Any], tbp: dict[str, Any]
) -> Iterator[tuple[str, str, Any, Any, list[tuple[str, Any]]]]:
    for rank, theirs in enumerate(tbp["communication"]):
        steps = [row for row in run.steps if row.rank_id == rank]
        yield (
            f"rank {rank}: time in collectives of each step, us",
            "torch_tb_profiler",
            theirs,
            [row.communication_us for row in steps],
            [("calls", _called(made[rank]))],
        )
    yield (
        "transfer of all collectives, us",
        "torch_tb_profiler",
        sum(tbp["transfer"][0]),
        sum(row.transfer_us for row in run.collectives),
        [("calls", _transfer_of_calls(made))],
    )
    other = "HolisticTraceAnalysis"  # has figures of kernels alone
    if any(len(rank.device_events) for rank in made):
        yield "communication overlapped, %", other, hta["overlap"], _overlaps(made), []
        found = [row.rank for row in run.stragglers]
        yield "stragglers", other, hta["straggler"], found, [("always", [_latest(made)])]


def _annotations(made: Analysis) -> Any:
    return made.host.named(lambda name: bool(_CALLS.fullmatch(name)))


def _called(made: Analysis) -> list[float]:
    """Time of the annotations around the calls, by step."""
    rows, tree = _annotations(made), made.call_tree
    spans = intervals.of(tree.start[rows], tree.end[rows])
    return [time / 1000 for time in intervals.lengths_within(spans, made.steps.window).tolist()]


def _transfer_of_calls(made: list[Analysis]) -> float:
    """The shortest of the ranks' i-th annotations, summed."""
    durations = []
    for rank in made:
        rows, tree = _annotations(rank), rank.call_tree
        rows = rows[np.argsort(tree.start[rows], kind="stable")]
        durations.append((tree.end - tree.start)[rows])
    return float(np.min(durations, axis=0).sum()) / 1000


def _overlaps(made: list[Analysis]) -> list[float]:
    from comparison.hta import launched_by_the_last_step
    from tb_hookview.report.tables.devices import find_use

    used = [find_use(rank, launched_by_the_last_step(rank)) for rank in made]
    return [round(100 * use.overlapped / use.communication, 2) for use in used]


def _latest(made: list[Analysis]) -> int:
    """The rank whose last long kernel of a collective starts last in most steps."""
    last = []
    for rank in made:
        calls = find_collectives(rank.host, rank.device_events, rank.kinds)
        step = rank.steps.at(calls.start)
        long = (calls.end - calls.start) >= _LONG * np.diff(rank.steps.window, axis=1).mean()
        last.append([calls.start[long & (step == number)].max() for number in (0, 1)])
    found = np.argmax(last, axis=0).tolist()
    return max(set(found), key=found.count)
