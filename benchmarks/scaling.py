"""How time and memory grow with the trace: 10,000 to four million events, 1 GB of JSON.

    python benchmarks/scaling.py [TRACE] [--repeats N] [--quick]
        [--write benchmarks/results/performance.md]
    python benchmarks/scaling.py [TRACE] --gigabytes N

Prints Markdown, and with --write puts it between the markers of that file. Windows of the trace
make the small ones, copies of it the large ones. --gigabytes 5 measures once a trace of so much
JSON instead, minutes that are not for the page.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from common import page
from common.traces import json_bytes, label, the_trace
from growth import table
from growth.measure import Size, measure
from growth.sizes import COPIES, WINDOWS, make

_PROGRAM = "scaling"
_QUICK = 2
"""Copies of the trace in the largest one that is made to try the program."""


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = page.arguments_of(__doc__)
    parser.add_argument("trace", nargs="?", type=Path, help="the one to make others of")
    parser.add_argument("--repeats", type=page.positive, default=3, help="runs for each size (3)")
    parser.add_argument("--gigabytes", type=float, help="only a trace of so much JSON, once")
    arguments = page.parsed(parser, _PROGRAM, argv)
    if arguments.gigabytes and arguments.write:
        parser.error("--gigabytes is not for the page; leave out --write")
    return arguments


def _measured(trace: Path, arguments: argparse.Namespace) -> list[Size]:
    windows, copies, repeats = WINDOWS, COPIES, arguments.repeats
    if arguments.quick:
        copies, repeats = tuple(n for n in COPIES if n <= _QUICK), 1
    if arguments.gigabytes:
        most = round(arguments.gigabytes * 1e9 / json_bytes(trace))
        windows, copies, repeats = (), (1, max(2, most)), 1
    with tempfile.TemporaryDirectory() as folder:
        page.say("making the traces (a minute or two for four million events)")
        return measure(make(trace, Path(folder), windows, copies), repeats)


def main(argv: Sequence[str]) -> int:
    """Make the traces, measure, print, write."""
    arguments = _arguments(argv)
    trace = the_trace(arguments.trace)
    load = page.load_now()
    sizes = _measured(trace, arguments)
    parts = [
        page.measured_on(_PROGRAM, argv, load),
        f"Windows and copies of `{label(trace)}`. Medians of the runs of each size, in turn, each "
        "in a fresh process without a cache.",
        table.size_table(sizes),
        table.exponents(sizes),
    ]
    page.publish(_PROGRAM, parts, table.aims(sizes), arguments.write)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
