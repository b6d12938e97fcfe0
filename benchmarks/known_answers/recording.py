"""Pairs of programs, recorded, and timed without the profiler.

A recording slows what it records: each operator and each mark of a module, and no time that is
slept. So a prediction is compared with a recording of the changed program; and, scaled to what
the program took without the profiler, with the time of the changed program without it.
"""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path
from typing import NamedTuple

import torch
from common.markdown import text

import tb_hookview as hookview
from known_answers.answer import Answer, Round, ask, errors_of, loading_of, median_of, percent
from known_answers.pairs import Asked, Pair
from known_answers.timing import quick, quickest, rest, timed, warm_up
from known_answers.training import Training
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.selection import Selection
from tb_hookview.loading import load
from tb_hookview.simulation.simulator import Simulator

_BLOCKS = 16
"""Blocks of steps of each program in a round: timed, and as many recorded."""


class Pairing(NamedTuple):
    """The answers for a pair of programs, milliseconds per step."""

    recorded: Answer
    """Next to the recorded steps of the changed program."""
    timed: Answer
    """Next to its steps without the profiler: what was predicted, by how much less the unchanged
    steps took without it."""


def pairing(pair: Pair, rounds: int) -> Pairing:
    """The answers for a pair; each round times both programs, and records both, in turns."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    question, programs = pair.question(), (pair.before(), pair.after())
    recorded, plain = zip(*(_round(question, programs) for _ in range(rounds)), strict=True)
    return Pairing(
        Answer(pair.name, question.words, list(recorded), pair.note),
        Answer(pair.name, question.words, list(plain), pair.note),
    )


def _round(question: Asked, programs: tuple[Training, Training]) -> tuple[Round, Round]:
    """Next to the recorded steps, and to those without the profiler."""
    for program in programs:
        warm_up(program.step)
    before, after = _timed(programs)
    earlier, later = _recorded(programs)
    asked = median_of([ask(each, question.change(each.analysis)) for each in earlier])
    took = statistics.median(each.recorded.step / 1e6 for each in later)
    return Round(asked, took), Round(asked.scaled(before / asked.replayed), after)


def _timed(programs: tuple[Training, Training]) -> list[float]:
    """Milliseconds per step of both programs, which take turns."""
    blocks = [[timed(each.step, each.length) for each in programs] for _ in range(_BLOCKS)]
    return [
        quick(times, program.length)
        for times, program in zip(zip(*blocks, strict=True), programs, strict=True)
    ]


def _recorded(programs: tuple[Training, Training]) -> list[list[Simulator]]:
    """Record blocks of both programs in turns, with a mark for each step; those that count."""
    before, after = programs
    hookview.wrap(before.model)
    hookview.wrap(after.model, name="after")
    try:
        with tempfile.TemporaryDirectory() as folder:
            with hookview.profile(folder, activities=[torch.profiler.ProfilerActivity.CPU]):
                for program in programs * (1 + _BLOCKS):
                    rest(program.length)
                    for _ in range(program.length):
                        with torch.profiler.record_function("ProfilerStep#1"):
                            program.step()
            (path,) = Path(folder).glob("*.gz")
            return _blocks(load(path), before.length, after.length)
    finally:
        for program in programs:
            hookview.unwrap(program.model)


def _blocks(analysis: Analysis, *lengths: int) -> list[list[Simulator]]:
    """Blocks of each program whose own work was quickest, without the first of a recording."""
    found = []
    for program, length in enumerate(lengths):
        begins = sum(lengths[:program])
        blocks = [
            Simulator(Selection(analysis, tuple(range(first, first + length))))
            for first in range(begins, len(analysis.steps.window), sum(lengths))
        ]
        found.append(list(quickest(sorted(blocks[1:], key=_worked))))
    return found


def _worked(simulator: Simulator) -> float:
    """Nanoseconds of a step in which the host was not in the loader, which may sleep longer."""
    return simulator.recorded.step - loading_of(simulator) / len(simulator.window.steps)


HEAD = (
    "before -> after",
    "question",
    "recorded, ms",
    "predicted, ms",
    "recorded after, ms",
    "error, %",
    "of rounds, %",
    "added up, %",
    "timed, ms",
    "timed after, ms",
    "error, %",
    "of rounds, %",
)


def cells(pairing: Pairing) -> list[str]:
    """An answer as a row below `HEAD`."""
    recorded, plain = pairing
    return [
        recorded.named,
        text(recorded.question),
        f"{recorded.asked.recorded:.2f}",
        f"{recorded.asked.predicted:.2f}",
        f"{recorded.happened:.2f}",
        *errors_of(recorded),
        percent(recorded.naive_error),
        f"{plain.asked.replayed:.2f}",
        f"{plain.happened:.2f}",
        *errors_of(plain),
    ]
