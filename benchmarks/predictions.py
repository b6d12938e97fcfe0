"""Predictions of what-ifs next to what happened: programs run as they were, and changed.

    python benchmarks/predictions.py [--rounds N] [--write docs/validation.md]

Prints Markdown, and with --write puts it between the markers of that file. What else the machine
does is in the times: an emulated device runs beside its host, so take a machine with two cores
that are idle most of the time.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence

from common import page
from common.child import without_cache
from common.markdown import table
from known_answers import answer, emulated, recording, spans

_PROGRAM = "predictions"
_MEDIAN, _MOST, _SHARE = 0.05, 0.10, 0.9


def main() -> None:
    """Measure, and print the tables."""
    parser = page.arguments_of(__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    page.check(parser, options, _PROGRAM)
    without_cache()
    load, rounds = page.load_now(), 1 if options.quick else options.rounds
    simulated = list(emulated.answers(rounds))
    others = list(spans.answers())
    pairs = list(recording.pairings(rounds))
    parts = [
        page.measured_on(_PROGRAM, sys.argv[1:], load),
        table(answer.HEAD, map(answer.cells, [*simulated, *others]), left=2),
        table(recording.HEAD, map(recording.cells, pairs), left=2),
    ]
    everything = [*simulated, *others, *(each.answer for each in pairs)]
    page.publish(_PROGRAM, parts, _aims(everything), options.write)


def _aims(answers: Sequence[answer.Answer]) -> list[page.Aim]:
    errors = [abs(each.error) for each in answers]
    naive = [abs(each.naive_error) for each in answers]
    near = sum(error <= _MOST for error in errors)
    middle, plain = statistics.median(errors), statistics.median(naive)
    return [
        page.Aim(
            "half of the predictions are within 5 % of what happened",
            f"median error {middle:.1%}",
            middle <= _MEDIAN,
        ),
        page.Aim(
            "nine of ten predictions are within 10 % of what happened",
            f"{near} of {len(errors)}",
            near >= _SHARE * len(errors),
        ),
        page.Aim(
            "predictions are nearer to what happened than adding up what was changed",
            f"median error {middle:.1%} next to {plain:.1%}, mean "
            f"{statistics.mean(errors):.1%} next to {statistics.mean(naive):.1%}",
            middle < plain,
        ),
    ]


if __name__ == "__main__":
    main()
