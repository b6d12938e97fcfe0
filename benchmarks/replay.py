"""How exact replays of real traces are, what questions are answered, and how long that takes.

    python benchmarks/replay.py [FILES...] [--repeats N] [--write benchmarks/results/replays.md]

Prints Markdown, and with --write puts it between the markers of that file. The error of a replay
says how well a model repeats what was recorded; whether it answers questions rightly is another
matter (`known_answers/`).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from common import page
from common.markdown import table
from common.traces import FOLDER, label

from tb_hookview.analysis.selection import Selection
from tb_hookview.errors import HookviewError
from tb_hookview.loading import load as load_trace
from tb_hookview.simulation.questions import scaled
from tb_hookview.simulation.replay import Replay, Replayer, recorded
from tb_hookview.simulation.simulator import Simulator
from tb_hookview.simulation.whatif import path_time

_PROGRAM = "replay"
_ALLOWED = 0.025
"""Part of a step that a replay may be off."""
_QUESTIONS = ({"kernels": 0.5}, {"host": 0.5}, {"syncs": 0.0}, {"data": 0.0})
_HEAD = (
    "trace",
    "steps",
    "nodes",
    "edges",
    "step, ms",
    "replay, %",
    "worst step, %",
    "unexplained, %",
    "kernels=0.5, %",
    "host=0.5, %",
    "syncs=0, %",
    "data=0, %",
    "graph, ms",
    "question, ms",
)


def main() -> None:
    """Measure the files and print the tables."""
    parser = page.arguments_of(__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--repeats", type=page.positive, default=5)
    options = page.parsed(parser, _PROGRAM)
    load = page.load_now()
    rows, refused, errors = [], [], []
    for path in options.files or _traces():
        page.say(label(path))
        try:
            simulator = Simulator(Selection(load_trace(path), None))
        except HookviewError:
            continue
        if reason := simulator.refused:
            refused.append([label(path), reason])
            continue
        errors.append(max(_error(simulator), worst_step(simulator)))
        rows.append([label(path), *_row(simulator, 1 if options.quick else options.repeats)])
    parts = [
        page.measured_on(_PROGRAM, sys.argv[1:], load),
        table(_HEAD, rows),
        table(("not replayed", "because"), refused, left=2),
    ]
    page.publish(_PROGRAM, parts, [_aim(errors)], options.write)


def _aim(errors: Sequence[float]) -> page.Aim:
    good = sum(error <= _ALLOWED for error in errors)
    return page.Aim(
        "replays are within 2.5% of the recorded steps, of all together and of each, on 95% of "
        "the traces",
        f"on {good} of {len(errors)}",
        good >= 0.95 * len(errors),
    )


def _error(simulator: Simulator) -> float:
    return abs(simulator.unchanged.step / simulator.recorded.step - 1)


def _traces() -> Iterable[Path]:
    found = [*FOLDER.rglob("*.json"), *FOLDER.rglob("*.json.gz")] if FOLDER.is_dir() else []
    return sorted(found)


def _row(simulator: Simulator, repeats: int) -> list[str]:
    unchanged = simulator.unchanged
    step = simulator.recorded.step

    def percent(value: float) -> str:
        return f"{100 * value:.2f}"

    asked = [
        percent(simulator.step(scaled(simulator.analysis, question)) / unchanged.step - 1)
        for question in _QUESTIONS
    ]
    edges = simulator.graph.edges
    return [
        str(len(simulator.window.steps)),
        f"{len(simulator.graph.nodes.time):,}",
        f"{len(edges.source):,}",
        f"{step / 1e6:.2f}",
        percent(unchanged.step / step - 1),
        percent(worst_step(simulator)),
        percent(path_time(unchanged).unexplained * 1000 / unchanged.step),
        *asked,
        f"{_milliseconds(lambda: Simulator(simulator.selection).graph, repeats):.1f}",
        f"{_milliseconds(lambda: simulator.step(_half(simulator)), repeats):.1f}",
    ]


def _half(simulator: Simulator) -> Any:
    return scaled(simulator.analysis, {"kernels": 0.5, "host": 0.5})


def worst_step(simulator: Simulator) -> float:
    """Largest error of any step's length, from completion to completion."""
    graph, measure = simulator.graph, simulator.measure
    before = Replay(graph, recorded(graph), graph.nodes.time)
    after = Replayer(graph)(recorded(graph))
    then = np.diff(measure.completions(before), prepend=measure.base(before))
    now = np.diff(measure.completions(after), prepend=measure.base(after))
    return float((np.abs(now - then) / np.maximum(then, 1)).max())


def _milliseconds(do: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        do()
        times.append(time.perf_counter() - start)
    return median(times) * 1e3


if __name__ == "__main__":
    main()
