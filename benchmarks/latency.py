"""How long the server's clients wait: for what it knows, for a first answer, for eight at once.

    python benchmarks/latency.py [TRACE] [--each N] [--repeats N] [--quick] [--write PAGE]

Prints Markdown, and with --write puts it between the markers of that file. Asks `hookview serve`
over the loopback, a connection for each question; clients and server share the machine.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from common import page
from common.page import Aim
from common.traces import label, the_trace
from serving import cold, first, warm

_PROGRAM = "latency"
CLIENTS = 8


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = page.arguments_of(__doc__)
    parser.add_argument("trace", nargs="?", type=Path, help="the one to ask about")
    parser.add_argument(
        "--each", type=page.positive, default=50, help="questions of each client (50)"
    )
    parser.add_argument(
        "--repeats", type=page.positive, default=5, help="fresh servers of each kind (5)"
    )
    return page.parsed(parser, _PROGRAM, argv)


def _measured(trace: Path, each: int, repeats: int) -> tuple[list[str], list[Aim]]:
    with tempfile.TemporaryDirectory() as scratch:
        one, many = Path(scratch) / "one", Path(scratch) / "many"
        runs = [f"run{number}" for number in range(CLIENTS)]
        for folder in (one / runs[0], *(many / run for run in runs)):
            folder.mkdir(parents=True)
            shutil.copy(trace, folder / f"worker.pt.trace.json{_zipped(trace)}")
        queries = [{"run": run, "worker": "worker"} for run in runs]
        asked = warm.measure(one, queries[0], (1, CLIENTS), each)
        answers, aims = first.measure(one, queries[0], Path(scratch) / "cache", repeats)
        at_once = cold.measure(many, queries, repeats)
    parts = [
        f"What the server has read before (questions of each client: {each}):",
        *asked,
        f"The first answer of a fresh server, {repeats} of each:",
        *answers,
        f"{CLIENTS} clients who ask for the reports of {CLIENTS} traces that the server has not "
        f"read, all at once ({repeats} fresh servers, without a cache):",
        *at_once,
    ]
    return parts, aims


def _zipped(trace: Path) -> str:
    return ".gz" if trace.suffix == ".gz" else ""


def main(argv: Sequence[str]) -> int:
    """Measure, print, write."""
    arguments = _arguments(argv)
    trace, load = the_trace(arguments.trace), page.load_now()
    each, repeats = (5, 1) if arguments.quick else (arguments.each, arguments.repeats)
    try:
        parts, aims = _measured(trace, each, repeats)
    except (RuntimeError, OSError, subprocess.SubprocessError) as error:
        print(f"latency.py: {error}", file=sys.stderr)
        return 1
    about = f"About `{label(trace)}`."
    page.publish(
        _PROGRAM, [page.measured_on(_PROGRAM, argv, load), about, *parts], aims, arguments.write
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
