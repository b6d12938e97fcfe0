"""Steps without the cost of recording: estimated from a recording, and timed.

    python benchmarks/recording_cost.py [--rounds N] [--write benchmarks/results/validation.md]

Needs two cores that are idle most of the time: an emulated device runs beside its host.
"""

from __future__ import annotations

import os
import sys

from common import page
from common.child import without_cache
from common.markdown import table
from known_answers import timing
from known_answers.unrecorded import OPTIONS, PROGRAMS, Found, measure

_PROGRAM, _NEAR, _MOST = "recording_cost", 0.1, 5
_HEAD = (
    "program",
    "recorded with",
    "timed, ms",
    "recorded, ms",
    "estimated, ms",
    "error, %",
    "gain of half the kernels, timed, ms",
    "as recorded, ms",
    "estimated, ms",
)


def main() -> None:
    """Measure, and print the table."""
    parser = page.arguments_of(__doc__)
    parser.add_argument("--rounds", type=int, default=12)
    options = page.parsed(parser, _PROGRAM)
    without_cache()
    timing.keep_freed_memory()
    load, rows, found = page.load_now(), [], []
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except (AttributeError, PermissionError):
        page.say("at the usual priority")
    for program in PROGRAMS:
        for name, chosen in OPTIONS.items():
            each = measure(program, chosen, 1 if options.quick else options.rounds)
            rows.append([program.name, name, *_cells(each)])
            found += [each] if chosen else []
    near = sum(abs(each.estimated / each.timed - 1) <= _NEAR for each in found)
    off = [
        sum(abs(gain - each.timed_gain) for each, gain in zip(found, gains, strict=True))
        for gains in zip(*((e.recorded_gain, e.estimated_gain) for e in found), strict=True)
    ]
    aims = [
        page.Aim(
            "steps recorded with stacks, less the estimated cost of recording, are within 10% of "
            "the timed ones in five of six programs",
            f"{near} of {len(found)}",
            near >= _MOST,
        ),
        page.Aim(
            "gains without that cost are nearer to what happened",
            f"{off[1] / len(found):.2f} ms off, {off[0] / len(found):.2f} ms as recorded",
            off[1] < off[0],
        ),
    ]
    parts = [page.measured_on(_PROGRAM, sys.argv[1:], load), table(_HEAD, rows, left=2)]
    page.publish(_PROGRAM, parts, aims, options.write)


def _cells(found: Found) -> list[str]:
    error = f"{100 * (found.estimated / found.timed - 1):+.1f}"
    times = found.timed, found.recorded, found.estimated
    gains = found.timed_gain, found.recorded_gain, found.estimated_gain
    return [*(f"{ms:.2f}" for ms in times), error, *(f"{ms:.2f}" for ms in gains)]


if __name__ == "__main__":
    main()
