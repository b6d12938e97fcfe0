"""Time and peak memory from a trace file to a result: hookview, json.loads, the peers, the floor.

    python benchmarks/analyze.py [FILES...] [--repeats N] [--stages] [--write docs/performance.md]

Prints Markdown, and with --write puts it between the markers of that file.
"""

from __future__ import annotations

import argparse
import datetime
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from analyzer import machine, table
from analyzer.measure import CONTENDERS, STAGES, Row, measure
from analyzer.peers import peers_python
from analyzer.traces import FOLDER, label, large_traces

BEGIN, END = "<!-- analyze:begin -->", "<!-- analyze:end -->"


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, help="traces; the large ones by default")
    parser.add_argument("--repeats", type=int, default=5, help="runs of each contender (5)")
    parser.add_argument("--stages", action="store_true", help="also where our own time goes")
    parser.add_argument("--write", type=Path, help="Markdown file with the markers")
    parser.add_argument("--peers-python", type=Path, help="Python with the peers installed")
    arguments = parser.parse_args(argv)
    if arguments.repeats < 1:
        parser.error("--repeats must be at least 1")
    for path in arguments.files:
        if not path.is_file():
            parser.error(f"{path}: no such file")
    if arguments.write and not _markers_in(arguments.write):
        parser.error(f"{arguments.write}: has no lines {BEGIN} and {END} to write between")
    return arguments


def _markers_in(path: Path) -> bool:
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return 0 <= text.find(BEGIN) < text.find(END)


def _write(path: Path, block: str) -> None:
    text = path.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    path.write_text(f"{before}{BEGIN}\n\n{block}\n\n{END}{after}", encoding="utf-8")


def _block(rows: Sequence[Row], argv: Sequence[str], repeats: int, load: float) -> str:
    command = " ".join(["python benchmarks/analyze.py", *(_without_folder(each) for each in argv)])
    parts = [
        f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}. {machine.describe()}. Load "
        f"average before the run: {load:.1f}. `{command}`",
        f"{table.versions(rows)}.",
        table.how_often(rows, repeats),
        f"**{table.verdict(rows)}**",
        "Time:",
        table.time_table(rows),
        "Memory added by the work in MB, and in brackets the peak of the whole process:",
        table.memory_table(rows),
    ]
    if any(STAGES.name in row.cells for row in rows):
        parts += ["Where the time of hookview goes:", table.stage_table(rows)]
    return "\n\n".join(parts)


def _without_folder(argument: str) -> str:
    path = Path(argument)
    return path.name if path.is_absolute() else argument


def main(argv: Sequence[str]) -> int:
    """Measure, print, write."""
    arguments = _arguments(argv)
    files = arguments.files or large_traces()
    if not files:
        where = f"{FOLDER.parent.name}/{FOLDER.name}"
        print(f"analyze.py: no {where} beside the checkout; name trace files", file=sys.stderr)
        return 0
    peers = arguments.peers_python or peers_python()
    load = os.getloadavg()[0]
    contenders = [*CONTENDERS, STAGES] if arguments.stages else CONTENDERS
    rows = []
    for row in measure(files, contenders, arguments.repeats, peers):
        rows.append(row)
        done = ", ".join(
            f"{name} {cell.fails or f'{cell.seconds:.3g} s'}" for name, cell in row.cells.items()
        )
        print(f"{len(rows)}/{len(files)} {label(row.path)}: {done}", file=sys.stderr, flush=True)
    block = _block(rows, argv, arguments.repeats, load)
    print(block)
    if arguments.write:
        _write(arguments.write, block)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
