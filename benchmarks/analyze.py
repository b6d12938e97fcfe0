"""Time and peak memory from a trace file to a result: hookview, json.loads, the peers, the floor.

    python benchmarks/analyze.py [FILES...] [--repeats N] [--quick]
        [--write benchmarks/results/performance.md]

Prints Markdown, and with --write puts it between the markers of that file.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from analyzer import table
from analyzer.measure import CONTENDERS, STAGES, Row, measure
from common import page
from common.peers import peers_python
from common.traces import FOLDER, label, large_traces

_PROGRAM = "analyze"
_QUICK = 3
"""Files that are enough to try the program."""


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = page.arguments_of(__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="traces; the large ones by default")
    parser.add_argument("--repeats", type=page.positive, default=5, help="runs of each (5)")
    parser.add_argument("--peers-python", type=Path, help="Python with the peers installed")
    arguments = page.parsed(parser, _PROGRAM, argv)
    for path in arguments.files:
        if not path.is_file():
            parser.error(f"{path}: no such file")
    return arguments


def _parts(rows: Sequence[Row], repeats: int) -> list[str]:
    return [
        f"{table.versions(rows)}.",
        table.how_often(rows, repeats),
        "Time:",
        table.time_table(rows),
        table.imports(rows),
        "Memory added by the work in MB, and in brackets the peak of the whole process:",
        table.memory_table(rows),
        "Where the time of hookview goes, next to what inflating and one walk take by themselves:",
        table.stage_table(rows),
    ]


def main(argv: Sequence[str]) -> int:
    """Measure, print, write."""
    arguments = _arguments(argv)
    files = arguments.files or large_traces()
    repeats = arguments.repeats
    if arguments.quick:
        files, repeats = files[:_QUICK], 1
    if not files:
        where = f"{FOLDER.parent.name}/{FOLDER.name}"
        print(f"analyze.py: no {where} next to the checkout; name trace files", file=sys.stderr)
        return 0
    peers = arguments.peers_python or peers_python()
    load = page.load_now()
    rows = []
    for row in measure(files, [*CONTENDERS, STAGES], repeats, peers):
        rows.append(row)
        done = ", ".join(
            f"{name} {cell.fails or f'{cell.seconds:.3g} s'}" for name, cell in row.cells.items()
        )
        page.say(f"{len(rows)}/{len(files)} {label(row.path)}: {done}")
    parts = [page.measured_on(_PROGRAM, argv, load), *_parts(rows, repeats)]
    page.publish(_PROGRAM, parts, table.aims(rows), arguments.write)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
