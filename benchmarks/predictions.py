"""Predictions of what-ifs next to what happened: programs run as they were, and changed.

    python benchmarks/predictions.py [--rounds N] [--resume FOLDER]
        [--write benchmarks/results/validation.md]

Prints Markdown, and with --write puts it between the markers of that file. What else the machine
does is in the times, and visible as errors of rounds that differ. An emulated device runs beside
its host, so take a machine with two cores that are idle most of the time. Where that is allowed
(root, or CAP_SYS_NICE), programs run ahead of all other processes.
"""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec
from common import page
from common.child import without_cache
from common.markdown import table
from known_answers import answer, emulated, recording, spans, timing
from known_answers.pairs import PAIRS
from known_answers.programs import PROGRAMS

_PROGRAM = "predictions"
_MEDIAN, _MOST, _SHARE = 0.05, 0.10, 0.9
T = TypeVar("T")


def main() -> None:
    """Measure, and print the tables."""
    parser = page.arguments_of(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--resume", type=Path, help="folder that keeps what each program gave")
    options = page.parsed(parser, _PROGRAM)
    without_cache()
    load, rounds = page.load_now(), 1 if options.quick else options.rounds
    priority = _ahead_of_others()
    timing.keep_freed_memory()
    keep = partial(_kept, options.resume)
    simulated = [
        each
        for program in PROGRAMS
        for each in keep(program.name, list[answer.Answer], emulated.answers, program, rounds)
    ]
    simulated += spans.answers()
    pairs = [keep(pair.name, recording.Pairing, recording.pairing, pair, rounds) for pair in PAIRS]
    parts = [
        f"{page.measured_on(_PROGRAM, sys.argv[1:], load)} {rounds} rounds, {priority}.",
        table(answer.HEAD, map(answer.cells, simulated), left=2),
        table(recording.HEAD, map(recording.cells, pairs), left=2),
    ]
    page.publish(_PROGRAM, parts, [*_aims(simulated, pairs)], options.write)


def _ahead_of_others() -> str:
    """Ask the scheduler to run this process before all others, and say whether it does."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except (AttributeError, PermissionError):
        return "at the usual priority"
    return "ahead of other processes (`SCHED_FIFO`)"


def _kept(
    folder: Path | None, name: str, kind: type[T], measure: Callable[..., T], *on: object
) -> T:
    """What was measured before and kept in a folder; else measure it, and keep it there."""
    page.say(name)
    path = folder / f"{''.join(c if c.isalnum() else '-' for c in name)}.json" if folder else None
    if path and path.is_file():
        return msgspec.json.decode(path.read_bytes(), type=kind)
    found = measure(*on)
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(msgspec.json.encode(found))
    return found


def _aims(
    simulated: Sequence[answer.Answer], pairs: Sequence[recording.Pairing]
) -> Iterable[page.Aim]:
    """Aims of all predictions next to recordings; and of those next to steps without them."""
    everything = [*simulated, *(pair.recorded for pair in pairs)]
    yield from _accuracy(everything, "")
    plain = [*simulated, *(pair.timed for pair in pairs)]
    yield from _accuracy(plain, ", next to training steps without the profiler")
    errors = [abs(each.error) for each in everything]
    naive = [abs(each.naive_error) for each in everything]
    yield page.Aim(
        "predictions are nearer to what happened than adding up what was changed",
        f"median error {statistics.median(errors):.1%} next to {statistics.median(naive):.1%}, "
        f"mean {statistics.mean(errors):.1%} next to {statistics.mean(naive):.1%}",
        statistics.mean(errors) < statistics.mean(naive)
        and statistics.median(errors) < statistics.median(naive),
    )


def _accuracy(answers: Sequence[answer.Answer], which: str) -> Iterable[page.Aim]:
    errors = [abs(each.error) for each in answers]
    near, middle = sum(error <= _MOST for error in errors), statistics.median(errors)
    yield page.Aim(
        f"half of the predictions are within 5% of what happened{which}",
        f"median error {middle:.1%}",
        middle <= _MEDIAN,
    )
    yield page.Aim(
        f"nine of ten predictions are within 10% of what happened{which}",
        f"{near} of {len(errors)}",
        near >= _SHARE * len(errors),
    )


if __name__ == "__main__":
    main()
