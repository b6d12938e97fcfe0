"""Pairs of programs, timed without the profiler and recorded with it."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import torch
from common.markdown import text

import tb_hookview as hookview
from known_answers.answer import Answer, ask, loading_of, median_of
from known_answers.pairs import PAIRS, Asked, Pair
from known_answers.timing import quick, quickest, rest, timed, warm_up
from known_answers.training import Training
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.selection import Selection
from tb_hookview.loading import load
from tb_hookview.simulation.simulator import Simulator

_STEPS = 40
"""Steps of a round."""


class Pairing(NamedTuple):
    """The answer for a pair of programs, milliseconds a step."""

    answer: Answer
    """Of steps without the profiler: what was recorded, times how much longer that took."""
    recorded: float
    recorded_after: float
    predicted: float
    """Of recorded steps."""

    @property
    def recorded_error(self) -> float:
        """Part by which the prediction for recorded steps is off the recording after the change."""
        return self.predicted / self.recorded_after - 1


def pairings(rounds: int) -> Iterator[Pairing]:
    """Yield the answers for all pairs; each round times and records both programs in turn."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    for pair in PAIRS:
        yield _measure(pair, pair.question(), rounds)


def _measure(pair: Pair, question: Asked, rounds: int) -> Pairing:
    programs = pair.before(), pair.after()
    times: list[list[float]] = [[], []]
    recordings: list[list[Analysis]] = [[], []]
    for _ in range(rounds):
        for which, program in enumerate(programs):
            count = _STEPS // program.length
            times[which] += timed(program.step, count, program.length)
            recordings[which].append(_recorded(program, count))
    lengths = [program.length for program in programs]
    before, after = map(quick, times, lengths)
    earlier, later = map(_quick_blocks, recordings, lengths)
    asked = median_of([ask(each, question.change(each.analysis)) for each in earlier])
    return Pairing(
        Answer(pair.name, question.words, asked.scaled(before / asked.replayed), after, pair.note),
        asked.recorded,
        statistics.median(each.recorded.step / 1e6 for each in later),
        asked.predicted,
    )


def _recorded(training: Training, count: int) -> Analysis:
    """Record `count` blocks of steps, each step with a mark."""
    warm_up(training.step)
    hookview.wrap(training.model)
    activities = [torch.profiler.ProfilerActivity.CPU]
    try:
        with tempfile.TemporaryDirectory() as folder:
            with hookview.profile(folder, activities=activities):
                for number in range(1 + count * training.length):
                    rest(training.length)
                    with torch.profiler.record_function(f"ProfilerStep#{number}"):
                        training.step()
            (path,) = Path(folder).glob("*.gz")
            return load(path)
    finally:
        hookview.unwrap(training.model)


def _quick_blocks(recordings: Iterable[Analysis], length: int) -> list[Simulator]:
    """The blocks of all recordings that count; the first step of each recording is left out."""
    blocks = [
        Simulator(Selection(analysis, tuple(range(first, first + length))))
        for analysis in recordings
        for first in range(1, len(analysis.steps.window) - length + 1, length)
    ]
    return list(quickest(sorted(blocks, key=_worked), length))


def _worked(simulator: Simulator) -> float:
    """Nanoseconds of a block in which the host was not in the loader, which may sleep longer."""
    return simulator.recorded.step - loading_of(simulator) / len(simulator.window.steps)


HEAD = (
    "before -> after",
    "question",
    "timed, ms",
    "recorded, ms",
    "predicted, ms",
    "bounds, ms",
    "happened, ms",
    "error, %",
    "added up, %",
    "recorded after, ms",
    "error, %",
)


def cells(pairing: Pairing) -> list[str]:
    """An answer as a row below `HEAD`."""
    answer, asked = pairing.answer, pairing.answer.asked
    return [
        answer.named,
        text(answer.question),
        f"{asked.replayed:.2f}",
        f"{pairing.recorded:.2f}",
        f"{asked.predicted:.2f}",
        f"{asked.low:.2f} to {asked.high:.2f}",
        f"{answer.happened:.2f}",
        f"{100 * answer.error:+.1f}",
        f"{100 * answer.naive_error:+.1f}",
        f"{pairing.recorded_after:.2f}",
        f"{100 * pairing.recorded_error:+.1f}",
    ]
