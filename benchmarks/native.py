"""What native code brings to reading, and what it would cost: the same columns made in other ways.

    python benchmarks/native.py [TRACE] [--repeats N] [--quick]
        [--write benchmarks/results/performance.md]

Prints Markdown, and with --write puts it between the markers of that file.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from analyzer.measure import CONTENDER, Cell
from common import child, page
from common.markdown import failure, table
from common.peers import peers_python
from common.traces import label, the_trace

_PROGRAM = "native"
_WAYS = CONTENDER.with_name("ways.py")
_READING = ("decoding", "columns")
"""Stages of a report that a quicker reader would shorten."""


class Way(NamedTuple):
    """A way to read a trace."""

    name: str
    does: str
    program: Path = _WAYS
    apart: bool = False
    """It runs in the peers' environment."""


_WAYS_ON_THE_PAGE = (
    Way("floor", "isal inflates, simdjson walks once; no column", CONTENDER, apart=True),
    Way("records", "inflated, then msgspec's typed records of all events at once; no column"),
    Way("hookview", "our reader, two processes: all columns, exact times, odd values dealt with"),
    Way("polars", "inflated, rewritten to a line for each event, `polars.read_ndjson`; 10 columns"),
    Way("pyarrow", "the same with `pyarrow.json`"),
    Way("simdjson", "simdjson's document, 10 columns taken of it in Python", apart=True),
)
_REPORT = Way("stages", "", CONTENDER)


def _measured(trace: Path, repeats: int) -> dict[str, Cell]:
    peers = peers_python()
    ways = (*_WAYS_ON_THE_PAGE, _REPORT)
    cells = {way.name: Cell() for way in ways}
    for number in range(repeats):
        for way in ways:
            if not cells[way.name].fails:
                python = peers if way.apart else Path(sys.executable)
                cells[way.name].add(child.run([python, way.program, way.name, trace]))
        page.say(f"{number + 1}/{repeats} runs of each way")
    return cells


def _row(way: Way, cell: Cell) -> list[str]:
    if cell.fails or not cell.runs:
        return [way.does, failure(cell.fails or "not run"), "", "", "", ""]
    return [
        way.does,
        f"{cell.seconds:.2f}",
        f"{cell.middle('cpu'):.2f}",
        f"{cell.middle('imports'):.2f}",
        f"{cell.added / 1e6:,.0f}",
        f"{cell.middle('installed') / 1e6:,.0f}",
    ]


def _at_best(cells: dict[str, Cell]) -> str:
    """What a report would take if reading took no longer than the floor."""
    report, floor = cells[_REPORT.name], cells["floor"]
    if not report.runs or not floor.runs:
        return f"No bound: {report.fails or floor.fails}."
    reading = median(
        sum(run["facts"]["stages"].get(stage, 0.0) for stage in _READING) for run in report.runs
    )
    best = report.seconds - reading + floor.seconds
    return (
        f"A report takes {report.seconds:.2f} s here, {reading:.2f} of them reading. Were reading "
        f"as quick as the floor, which makes no column, it would take {best:.2f} s: "
        f"{report.seconds / best:.1f} times as fast at the very best."
    )


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = page.arguments_of(__doc__)
    parser.add_argument("trace", nargs="?", type=Path, help="the one to read")
    parser.add_argument("--repeats", type=page.positive, default=5, help="runs of each way (5)")
    return page.parsed(parser, _PROGRAM, argv)


def main(argv: Sequence[str]) -> int:
    """Measure, print, write."""
    arguments = _arguments(argv)
    trace, load = the_trace(arguments.trace), page.load_now()
    repeats = 1 if arguments.quick else arguments.repeats
    cells = _measured(trace, repeats)
    head = ["way", "s", "CPU s", "imports, s", "memory added, MB", "installed, MB"]
    parts = [
        page.measured_on(_PROGRAM, argv, load),
        f"`{label(trace)}`. Medians of {repeats} fresh processes of each, in turn. Installed is "
        "what the packages that do the work take on disk.",
        table(head, (_row(way, cells[way.name]) for way in _WAYS_ON_THE_PAGE)),
        _at_best(cells),
    ]
    page.publish(_PROGRAM, parts, [], arguments.write)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
