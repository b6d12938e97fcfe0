"""How long the server takes to answer for the timeline: lanes, windows at every zoom, the rest.

    python benchmarks/timeline.py [FILES...] [--copies N] [--width PIXELS]

Prints Markdown. Answers are asked for through the HTTP application, in this process: analysis of
the query, merging, JSON and compression are in the times, a network is not.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from common import child, machine
from common.traces import STACKS, inflate, label, the_trace
from flask.testing import FlaskClient
from isal import igzip

from tb_hookview.loading import load
from tb_hookview.server import create_app
from tb_hookview.timeline import Timeline

ZOOMS = range(0, 21, 2)
"""Powers of two of which a window is the part of the trace."""
PLACES = 9
"""Windows at each zoom, evenly over the trace."""


class Spent(NamedTuple):
    """What one answer took, milliseconds, and its bytes."""

    wall: float
    thread: float
    size: int


class Asker:
    """Asks the application for one trace."""

    def __init__(self, path: Path) -> None:
        self._client: FlaskClient = create_app(path).test_client()
        (run,) = self._client.get("/api/runs").get_json()["runs"]
        self._query = {"run": run["name"], "worker": run["workers"][0]["name"]}
        self.ask("report")

    def ask(self, route: str, **query: Any) -> tuple[Spent, Any]:
        """What an answer took, and the body of the answer, compressed as it is."""
        wall, thread = time.perf_counter(), time.thread_time()
        answer = self._client.get(
            f"/api/{route}",
            query_string={**self._query, **query},
            headers={"Accept-Encoding": "gzip"},
        )
        body = answer.get_data()
        spent = Spent(
            1000 * (time.perf_counter() - wall), 1000 * (time.thread_time() - thread), len(body)
        )
        if answer.status_code != 200:
            raise SystemExit(f"{route} {query}: {answer.status}")
        return spent, body


def lanes(path: Path) -> Iterator[str]:
    """One row for each of the larger lanes: what making it took."""
    timeline = Timeline(load(path))
    for number, entry in enumerate(timeline.entries):
        if entry.items is None:
            continue
        wall, thread = time.perf_counter(), time.thread_time()
        lane = timeline.lane(number)
        length = timeline.analysis.bounds[1] - timeline.origin
        timeline.blocks(number, timeline.window(0, max(length, 1), 1400))
        spent = time.perf_counter() - wall, time.thread_time() - thread
        if len(lane) >= 1000:
            name = f"{entry.kind}, {entry.title}, {entry.subtitle}".rstrip(", ")
            yield row(name, f"{len(lane):,}", lane.rows, *(f"{1000 * s:.0f}" for s in spent))


def windows(asker: Asker, duration: float, width: int) -> Iterator[str]:
    """One row for each zoom."""
    for zoom in ZOOMS:
        length = max(duration / 2**zoom, 0.001)
        starts = [(duration - length) * place / (PLACES - 1) for place in range(PLACES)]
        asked = [asker.ask("timeline/window", start=s, end=s + length, width=width) for s in starts]
        spent = [each for each, _ in asked]
        wall, thread = (sorted(each[n] for each in spent) for n in (0, 1))
        yield row(
            f"{length:,.0f}" if length >= 10 else f"{length:.3f}",
            *(f"{value:.1f}" for value in (statistics.median(wall), wall[-1])),
            *(f"{value:.1f}" for value in (statistics.median(thread), thread[-1])),
            f"{statistics.median(each.size for each in spent) / 1000:,.0f}",
        )


def others(asker: Asker, duration: float) -> Iterator[str]:
    """One row for each of the other questions, each asked once."""
    middle = duration / 2
    for words, route, query in (
        ("the first event's detail", "timeline/event", {"id": 20_000}),
        ("another event's detail", "timeline/event", {"id": 20_007}),
        ("a search that finds little", "timeline/search", {"q": "aten::mm"}),
        ("a search that finds most", "timeline/search", {"q": "a"}),
        ("statistics of all", "timeline/statistics", {"start": 0, "end": duration}),
        (
            "statistics of a hundredth",
            "timeline/statistics",
            {"start": middle, "end": middle + duration / 100},
        ),
    ):
        spent, _ = asker.ask(route, **query)
        yield row(words, f"{spent.wall:.0f}", f"{spent.thread:.0f}", f"{spent.size / 1000:,.0f}")


def row(*cells: Any) -> str:
    """A row of a table in Markdown."""
    return f"| {' | '.join(map(str, cells))} |"


def table(head: Sequence[str], rows: Callable[[], Iterator[str]]) -> None:
    """Print a table as its rows come."""
    print(row(*head), row("---", *["---:"] * (len(head) - 1)), sep="\n")
    for line in rows():
        print(line, flush=True)
    print()


def report(path: Path, width: int) -> None:
    """Print all tables of one trace."""
    asker = Asker(path)
    spent, body = asker.ask("timeline")
    overview = json.loads(igzip.decompress(body))
    duration = overview["duration_us"]
    print(f"### {label(path)}: {overview['events']:,} events, {duration / 1000:,.0f} ms\n")
    print(f"All lanes, first asked for: {spent.wall:.0f} ms, {spent.thread:.0f} ms of this thread.")
    print("Lanes of a thousand rows and more, by themselves, with their first window:\n")
    table(("lane", "items", "rows", "wall, ms", "thread, ms"), lambda: lanes(path))
    head = ("window, us", "median, ms", "longest, ms", "thread: median, ms", "longest, ms", "kB")
    table(head, lambda: windows(asker, duration, width))
    table(("question", "wall, ms", "thread, ms", "kB"), lambda: others(asker, duration))


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, help=f"traces; {STACKS} by default")
    parser.add_argument("--copies", type=int, default=1, help="inflate each file N times first")
    parser.add_argument("--width", type=int, default=1400, help="pixels of a window (1400)")
    arguments = parser.parse_args(argv)
    arguments.files = [the_trace(path) for path in arguments.files or [None]]
    return arguments


def main(argv: Sequence[str]) -> int:
    """Measure and print."""
    arguments = _arguments(argv)
    child.without_cache()
    print(f"{machine.describe()}. Windows of {arguments.width} pixels, all lanes.\n")
    for path in arguments.files:
        if arguments.copies == 1:
            report(path, arguments.width)
            continue
        with tempfile.TemporaryDirectory() as folder:
            name = path.name.removesuffix(".gz").removesuffix(".json")
            inflated = Path(folder) / f"{name}_x{arguments.copies}.json.gz"
            if inflate(path, inflated, arguments.copies).wait():
                return 1
            report(inflated, arguments.width)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
