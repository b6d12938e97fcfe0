"""What a what-if takes, and what its dependency graph takes to build, at 200,000 and more events.

    python benchmarks/whatif.py [TRACES...] [--repeats N] [--quick]
        [--write benchmarks/results/performance.md]

Prints Markdown, and with --write puts it between the markers of that file. Copies of traces, one
after the other in time, make the large ones: by default of one with few nodes an event, and of one
with many.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import NamedTuple

from common import page
from common.markdown import table
from common.traces import FOLDER, STACKS, inflate, label, the_trace

from tb_hookview.analysis.selection import Selection
from tb_hookview.loading import load
from tb_hookview.simulation.questions import scaled
from tb_hookview.simulation.simulator import Simulator
from tb_hookview.simulation.whatif import what_if

_PROGRAM = "whatif"
_MANY_NODES = "hta_v100_df_index_resolver.json.gz"
"""A node for three or four events; most traces have one for ten."""
_SIZES = (200_000, 1_200_000)
"""Events that the aims are about."""
_ANSWER_MS, _BUILD_MS = (20, 300), (200, 2000)
"""Milliseconds that an answer, and the graph, may take at these sizes."""
_GROWTH = 1.3
"""How many times as many bytes per node may take in the large trace as in the small one."""
_HEAD = (
    "trace",
    "copies",
    "events",
    "nodes",
    "edges",
    "graph, ms",
    "replay, ms",
    "answer, ms",
    "by module too, ms",
    "graph, bytes per node",
    "answer, bytes per node",
)


class Measured(NamedTuple):
    """What one size of one trace takes: medians, milliseconds and bytes."""

    trace: str
    copies: int
    events: int
    nodes: int
    edges: int
    build: float
    replay: float
    answer: float
    by_module: float
    build_bytes: int
    answer_bytes: int


def main(argv: Sequence[str]) -> int:
    """Make the traces, measure, print, write."""
    options = _arguments(argv)
    traces = [the_trace(each) for each in options.traces]
    before = page.load_now()
    rows = [row for trace in traces for row in _sizes(trace, options)]
    parts = [
        page.measured_on(_PROGRAM, argv, before),
        "Medians of CPU time. An answer is a replay with kernels and host at half their time, with "
        "its bounds and its critical path, as the page asks at each move of a slider; the path by "
        "module, with slack, is a second question. Bytes are the most that were allocated for it.",
        table(_HEAD, [_cells(row) for row in rows]),
    ]
    page.publish(_PROGRAM, parts, list(_aims(rows)), options.write)
    return 0


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = page.arguments_of(__doc__)
    default = [FOLDER / STACKS, FOLDER / _MANY_NODES]
    parser.add_argument("traces", nargs="*", type=Path, default=default)
    parser.add_argument("--repeats", type=page.positive, default=9, help="runs of each (9)")
    return page.parsed(parser, _PROGRAM, argv)


def _sizes(trace: Path, options: argparse.Namespace) -> Iterator[Measured]:
    """Measure a trace with as many copies as the aims are about, smallest first."""
    repeats = 3 if options.quick else options.repeats
    once = load(trace).trace.event_count
    with tempfile.TemporaryDirectory() as folder:
        for size in _SIZES[:1] if options.quick else _SIZES:
            copies = max(round(size / once), 1)
            path = trace
            if copies > 1:
                page.say(f"making {copies} copies of {label(trace)}")
                path = Path(folder) / f"{copies}.json.gz"
                if inflate(trace, path, copies).wait():
                    raise SystemExit("whatif.py: a trace could not be made (see above)")
            yield _measure(path, label(trace), copies, repeats)


def _measure(path: Path, name: str, copies: int, repeats: int) -> Measured:
    selection = Selection(load(path), None)
    page.say(f"{name}, {copies} copies")
    simulator = Simulator(selection)
    change = scaled(selection.analysis, {"kernels": 0.5, "host": 0.5})
    what_if(simulator, change)
    return Measured(
        name,
        copies,
        selection.analysis.trace.event_count,
        len(simulator.graph.nodes.time),
        len(simulator.graph.edges.source),
        _milliseconds(lambda: Simulator(selection).graph, repeats),
        _milliseconds(lambda: simulator.step(change), repeats),
        _milliseconds(lambda: what_if(simulator, change, modules=False), repeats),
        _milliseconds(lambda: what_if(simulator, change), repeats),
        _peak(lambda: Simulator(selection).graph),
        _peak(lambda: what_if(simulator, change)),
    )


def _milliseconds(do: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.process_time()
        do()
        times.append(time.process_time() - start)
    return median(times) * 1e3


def _peak(do: Callable[[], object]) -> int:
    """Most bytes that were allocated at a time."""
    tracemalloc.start()
    do()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def _cells(row: Measured) -> list[str]:
    return [
        row.trace,
        str(row.copies),
        *(f"{count:,}" for count in (row.events, row.nodes, row.edges)),
        *(f"{ms:.1f}" for ms in (row.build, row.replay, row.answer, row.by_module)),
        *(f"{size / row.nodes:.0f}" for size in (row.build_bytes, row.answer_bytes)),
    ]


def _aims(rows: Sequence[Measured]) -> Iterator[page.Aim]:
    """What is to hold at each size, for all traces, and how memory grows from size to size."""
    for size, answer, build in zip(_SIZES, _ANSWER_MS, _BUILD_MS, strict=True):
        mine = [row for row in rows if size / 2 < row.events < size * 2]
        for what, most, took in (
            ("a what-if takes", answer, [row.answer for row in mine]),
            ("its graph is built in", build, [row.build for row in mine]),
        ):
            wanted = f"{what} at most {most:,} ms at {size:,} events"
            found = ", ".join(f"{ms:.0f} ms" for ms in took) or "not measured"
            yield page.Aim(wanted, found, max(took) <= most if took else None)
    wanted = f"memory of graph and answer grows with the nodes: at most {_GROWTH} times per node"
    grown = [
        ratio
        for small, large in pairwise(rows)
        if small.trace == large.trace
        for ratio in (
            large.build_bytes / large.nodes / (small.build_bytes / small.nodes),
            large.answer_bytes / large.nodes / (small.answer_bytes / small.nodes),
        )
    ]
    found = ", ".join(f"{ratio:.2f}" for ratio in grown) or "not measured"
    yield page.Aim(wanted, found, max(grown) <= _GROWTH if grown else None)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
