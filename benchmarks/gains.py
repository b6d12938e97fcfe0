"""Gains of the findings of real traces: the bound without a replay, and what a replay says.

    python benchmarks/gains.py [FILES...] [--quick] [--write PAGE]

Prints Markdown, and with --write puts it between the markers of that file. The bound is what the
finding was charged for: idle time of the device, and device events that could be avoided.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from common import page
from common.markdown import table
from common.traces import FOLDER, label

from tb_hookview.errors import HookviewError
from tb_hookview.loading import analyze
from tb_hookview.schema import Finding

_PROGRAM = "gains"
_WORTH = 0.005
"""Part of a step from which on a finding is in the table."""
_QUICK = 8
"""Traces of a run that only tries the program."""
_HEAD = ("trace", "finding", "step, ms", "bound, ms", "replayed, ms", "replayed / bound")


class Gain(NamedTuple):
    """A finding with both figures, microseconds per step."""

    trace: str
    finding: Finding
    step: float
    bound: float
    replayed: float


def main(argv: Sequence[str]) -> int:
    """Read the files and print the tables."""
    parser = page.arguments_of(__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    options = page.parsed(parser, _PROGRAM, argv)
    load = page.load_now()
    files = options.files or _traces()
    gains = [gain for path in files[: _QUICK if options.quick else None] for gain in _gains(path)]
    shown = [gain for gain in gains if max(gain.bound, gain.replayed) >= _WORTH * gain.step]
    shown.sort(key=lambda gain: gain.bound, reverse=True)
    ratios = [gain.replayed / gain.bound for gain in shown if gain.bound]
    parts = [
        page.measured_on(_PROGRAM, argv, load),
        f"Findings of {_WORTH:.1%} of a step or more by either figure: {len(shown)} of "
        f"{len(gains)}; the median of replayed / bound is {median(ratios or [0.0]):.2f}.",
        table(_HEAD, [_cells(gain) for gain in shown], left=2),
    ]
    page.publish(_PROGRAM, parts, [], options.write)
    return 0


def _traces() -> list[Path]:
    found = [*FOLDER.rglob("*.json"), *FOLDER.rglob("*.json.gz")] if FOLDER.is_dir() else []
    return sorted(found)


def _gains(path: Path) -> Iterable[Gain]:
    """Findings of a trace that have both figures."""
    try:
        report = analyze(path)
    except HookviewError:  # of damaged files others test
        return
    page.say(label(path))
    step = report.counted.data.per_step.duration_us or 0.0
    for finding in report.data.findings:
        bound, replayed = finding.gain_bound_us_per_step, finding.gain_us_per_step
        if bound is not None and replayed is not None:
            yield Gain(label(path), finding, step, bound, replayed)


def _cells(gain: Gain) -> list[str]:
    ratio = f"{gain.replayed / gain.bound:.2f}" if gain.bound else ""
    times = (f"{us / 1000:.3f}" for us in (gain.step, gain.bound, gain.replayed))
    return [gain.trace, gain.finding.rule, *times, ratio]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
