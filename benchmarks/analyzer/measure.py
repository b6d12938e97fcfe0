"""Runs the contenders, each time in a fresh process, and keeps what they tell."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from common import child

CONTENDER = Path(__file__).with_name("contender.py")
SLOW, SLOW_RUNS = 10.0, 2
"""A contender whose first run on a file takes longer (seconds) is run this often there."""


@dataclass(frozen=True)
class Contender:
    """Something that reads a trace."""

    name: str
    """As in `contender.py`."""
    title: str
    is_peer: bool = False
    """It analyzes traces, and stands in the comparison that the aim is about."""
    apart: bool = False
    """It runs in the peers' environment."""


HOOKVIEW = Contender("hookview", "hookview")
JSON_LOADS = Contender("json.loads", "gzip + json.loads")
FLOOR = Contender("floor", "floor", apart=True)
CONTENDERS = (
    HOOKVIEW,
    JSON_LOADS,
    Contender("hta", "HolisticTraceAnalysis", is_peer=True, apart=True),
    Contender("torch_tb_profiler", "torch_tb_profiler", is_peer=True, apart=True),
    FLOOR,
)
STAGES = Contender("stages", "hookview by stage")


@dataclass
class Cell:
    """All runs of one contender on one file."""

    runs: list[dict[str, Any]] = field(default_factory=list)
    fails: str | None = None

    def wants_another(self, repeats: int) -> bool:
        """Whether it is to be run once more."""
        slow = bool(self.runs) and self.runs[0]["seconds"] > SLOW
        return not self.fails and len(self.runs) < (min(repeats, SLOW_RUNS) if slow else repeats)

    def middle(self, key: str) -> float:
        """Median of `seconds`, `cpu`, `rss_before` or `rss_peak`."""
        return float(median(run[key] for run in self.runs))

    @property
    def seconds(self) -> float:
        """Median time."""
        return self.middle("seconds")

    @property
    def added(self) -> float:
        """Median of the bytes that the work added at its peak."""
        return float(median(run["rss_peak"] - run["rss_before"] for run in self.runs))

    def add(self, found: dict[str, Any]) -> None:
        """Keep the outcome of a run."""
        if "fails" in found:
            self.fails = found["fails"]
        else:
            self.runs.append(found)


@dataclass
class Row:
    """All contenders on one file."""

    path: Path
    cells: dict[str, Cell]

    def fastest_peer(self) -> tuple[Contender, float] | None:
        """The peer with the least median time among those that did not fail, and that time."""
        times = [(each, self.cells[each.name]) for each in CONTENDERS if each.is_peer]
        done = [(each, cell.seconds) for each, cell in times if cell.runs and not cell.fails]
        return min(done, key=lambda one: one[1], default=None)

    def ratio(self, over: float) -> float | None:
        """That time over ours, None where ours failed."""
        own = self.cells[HOOKVIEW.name]
        return None if own.fails else over / own.seconds


def measure(
    paths: Sequence[Path], contenders: Sequence[Contender], repeats: int, peers: Path
) -> Iterator[Row]:
    """Measure file by file, the contenders taking turns: A B C A B C."""
    with tempfile.TemporaryDirectory() as scratch:
        for path in paths:
            _warm(path)
            row = Row(path, {contender.name: Cell() for contender in contenders})
            for _ in range(repeats):
                for contender in contenders:
                    cell = row.cells[contender.name]
                    if cell.wants_another(repeats):
                        python = peers if contender.apart else Path(sys.executable)
                        cell.add(_run(contender, path, python, scratch))
            yield row


def _warm(path: Path) -> None:
    """Have the system read a file, so that the first contender does not pay for a cold disk."""
    with path.open("rb") as file:
        while file.read(1 << 20):
            pass


def _run(contender: Contender, path: Path, python: Path, scratch: str) -> dict[str, Any]:
    command = [python, "-I", CONTENDER, contender.name, path.resolve()]
    return child.run(command, CONTENDER_SCRATCH=scratch)
