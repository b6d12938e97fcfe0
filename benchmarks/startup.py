"""How long it takes to start: the command, the recorder in a training script, TensorBoard.

    python benchmarks/startup.py [--repeats N] [--quick] [--write benchmarks/results/performance.md]

Prints Markdown, and with --write puts it between the markers of that file.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from math import comb
from pathlib import Path
from statistics import median
from typing import NamedTuple

from common import child, page
from common.markdown import table
from common.page import Aim
from starting import timed

_PROGRAM = "startup"
HELP_AIM = 0.150
IMPORT_AIM = 0.100
TENSORBOARD_AIM = 0.050
"""Seconds."""

_PYTHON, _HELP = "`python -c pass`", "`hookview --help`"
_IMPORTS = "import tb_hookview.report.build, tb_hookview.trace.reader"
_ANALYZER = f"`{_IMPORTS}`, rules included"
_TORCH, _RECORDER = "`import torch`", "what `wrap` and `profile` of tb_hookview add to it"
_QUICK = 3


class Times(NamedTuple):
    """Seconds of each run, by what was run."""

    spent: dict[str, list[float]]
    later: set[str]
    """Modules that only the recorder's first use imports."""
    pairs: list[tuple[timed.Start, timed.Start]]
    """TensorBoard without our plugin, and with it."""


def _measured(repeats: int) -> Times:
    beside = Path(sys.executable).with_name("hookview")
    hookview = [beside] if beside.exists() else [sys.executable, "-m", "tb_hookview.cli"]
    commands: dict[str, list[str | Path]] = {
        _PYTHON: [sys.executable, "-c", "pass"],
        _HELP: [*hookview, "--help"],
        _ANALYZER: [sys.executable, "-c", _IMPORTS],
    }
    times = Times({name: [] for name in (*commands, _TORCH, _RECORDER)}, set(), [])
    for number in range(repeats + 1):
        found = {name: timed.command(words) for name, words in commands.items()}
        training = child.run([sys.executable, timed.HERE / "training.py"])
        if "fails" in training:
            raise RuntimeError(f"training.py: {training['fails']}")
        found |= {_TORCH: training["torch"], _RECORDER: training["added"]}
        times.later.update(training["later"])
        for name, seconds in found.items() if number else ():  # the first warms the disk's cache
            times.spent[name].append(seconds)
    with tempfile.TemporaryDirectory() as logdir:
        (Path(logdir) / "worker.pt.trace.json").write_text('{"traceEvents": []}')
        timed.tensorboard("with", logdir)
        for number in range(repeats):
            times.pairs.append(_pair(logdir, ours_first=bool(number % 2)))
            page.say(f"{number + 1}/{repeats} starts of TensorBoard")
    return times


def _pair(logdir: str, *, ours_first: bool) -> tuple[timed.Start, timed.Start]:
    order = ("with", "without") if ours_first else ("without", "with")
    starts = {which: timed.tensorboard(which, logdir) for which in order}
    return starts["without"], starts["with"]


def interval(values: Sequence[float]) -> tuple[float, float]:
    """An interval that holds the median of what they are drawn from, in 19 of 20 cases.

    Of no form that the values must have: it lies between two of them. Below six values it is the
    least and the largest, and holds it less often.
    """
    ordered, count = sorted(values), len(values)
    below = 0
    while sum(comb(count, k) for k in range(below + 1)) / 2**count <= 0.025:
        below += 1
    place = max(below - 1, 0)
    return ordered[place], ordered[-1 - place]


def _row(name: str, values: Sequence[float]) -> list[str]:
    return [name, *(f"{1000 * of(values):,.0f}" for of in (min, median, max))]


def _difference(pairs: Sequence[tuple[timed.Start, timed.Start]], until: str) -> list[float]:
    return [getattr(ours, until) - getattr(bare, until) for bare, ours in pairs]


def _tables(times: Times) -> list[str]:
    until = {"serving": "it says its address", "listing": "it has told which plugins there are"}
    rows = [_row(name, seconds) for name, seconds in times.spent.items()]
    for name, words in until.items():
        bare, ours = ([getattr(pair[side], name) for pair in times.pairs] for side in (0, 1))
        rows += [_row(f"TensorBoard until {words}, without our plugin", bare)]
        rows += [_row("the same with it", ours)]
        rows += [_row("the difference, pair by pair", _difference(times.pairs, name))]
    later = ", ".join(f"`{name}`" for name in sorted(times.later)) or "nothing"
    return [
        table(["milliseconds", "fastest", "median", "slowest"], rows),
        f"What the recorder's first use imports in addition: {later}.",
    ]


def _aims(times: Times) -> list[Aim]:
    def below(wanted: str, what: str, limit: float) -> Aim:
        found = median(times.spent[what])
        return Aim(wanted, f"{1000 * found:.0f} ms at the median", found < limit)

    difference = _difference(times.pairs, "listing")
    low, high = interval(difference)
    found = f"{1000 * median(difference):.0f} ms at the median of {len(difference)} pairs "
    found += f"(95% interval {1000 * low:.0f} to {1000 * high:.0f})"
    return [
        below(f"`hookview --help` below {1000 * HELP_AIM:.0f} ms", _HELP, HELP_AIM),
        below(
            f"less than {1000 * IMPORT_AIM:.0f} ms added to `import torch` for training",
            _RECORDER,
            IMPORT_AIM,
        ),
        Aim(
            f"TensorBoard ready less than {1000 * TENSORBOARD_AIM:.0f} ms later with our plugin",
            found,
            None if low < TENSORBOARD_AIM <= high else high < TENSORBOARD_AIM,
        ),
    ]


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = page.arguments_of(__doc__)
    parser.add_argument("--repeats", type=page.positive, default=15, help="runs of each (15)")
    return page.parsed(parser, _PROGRAM, argv)


def main(argv: Sequence[str]) -> int:
    """Measure, print, write."""
    arguments = _arguments(argv)
    # An installed package has its bytecode; here the first runs write it.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    load, repeats = page.load_now(), _QUICK if arguments.quick else arguments.repeats
    try:
        times = _measured(repeats)
    except (RuntimeError, OSError) as error:
        print(f"startup.py: {error}", file=sys.stderr)
        return 1
    how = f"Fresh processes, in turn, {repeats} runs of each; a first run of each is not counted."
    parts = [page.measured_on(_PROGRAM, argv, load), how, *_tables(times)]
    page.publish(_PROGRAM, parts, _aims(times), arguments.write)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
