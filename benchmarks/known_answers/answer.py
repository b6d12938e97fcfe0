"""Predictions next to what happened and to answers without a model; milliseconds per step."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from common.markdown import text

from tb_hookview.analysis.dependencies.graph import EdgeKind
from tb_hookview.simulation.changes import Change
from tb_hookview.simulation.simulator import Simulator

HOST = (EdgeKind.HOST, EdgeKind.HANDOVER, EdgeKind.QUEUE)
"""Edges that are work of the host."""


class Predicted(NamedTuple):
    """What a recording says of a question."""

    recorded: float
    replayed: float
    predicted: float
    low: float
    high: float
    naive: float
    """The replayed step with all that was changed added to it or taken off."""

    def scaled(self, factor: float) -> Predicted:
        """The same for steps that are longer by a factor."""
        return Predicted(*(value * factor for value in self))


class Round(NamedTuple):
    """What one recording says, and what happened next to it."""

    asked: Predicted
    happened: float

    @property
    def error(self) -> float:
        """Part by which the prediction is off what happened."""
        return self.asked.predicted / self.happened - 1


class Answer(NamedTuple):
    """A question, what was predicted, and what happened, in several rounds."""

    program: str
    question: str
    rounds: list[Round]
    note: str = ""
    """Why the prediction is off."""

    @property
    def named(self) -> str:
        """The program, with the note."""
        return text(f"{self.program} ({self.note})" if self.note else self.program)

    @property
    def asked(self) -> Predicted:
        """Median of the predictions."""
        return median_of([each.asked for each in self.rounds])

    @property
    def happened(self) -> float:
        """Median of what happened."""
        return statistics.median(each.happened for each in self.rounds)

    @property
    def error(self) -> float:
        """Part by which the predictions are off; the two of a round saw the same machine."""
        return statistics.median(each.error for each in self.rounds)

    @property
    def spread(self) -> tuple[float, float]:
        """Least and largest error of a round."""
        errors = [each.error for each in self.rounds]
        return min(errors), max(errors)

    @property
    def naive_error(self) -> float:
        """The error of the answer without a model."""
        return statistics.median(each.asked.naive / each.happened - 1 for each in self.rounds)


def ask(simulator: Simulator, change: Change) -> Predicted:
    """Predict the length of a step with a change."""
    unchanged, prediction = simulator.unchanged, simulator.predict(change)
    nanoseconds = (
        simulator.recorded.step,
        unchanged.step,
        prediction.step,
        prediction.low,
        prediction.high,
        max(unchanged.step + _sum_of(simulator, change), 0),
    )
    return Predicted(*(value / 1e6 for value in nanoseconds))


def _sum_of(simulator: Simulator, change: Change) -> float:
    """Nanoseconds per step by which everything that is changed gets longer, together."""
    graph, lengths, syncs = simulator.graph, simulator.lengths(change), simulator.analysis.syncs
    device = lengths.duration - graph.nodes.duration
    host = (lengths.lag - graph.edges.lag)[graph.edges.of(*HOST)]
    waited = (syncs.end - syncs.start)[np.intersect1d(change.syncs, graph.sync)]
    return float(device.sum() + host.sum() - waited.sum()) / len(simulator.window.steps)


def loading_of(simulator: Simulator) -> float:
    """Nanoseconds that the host is in a data loader."""
    graph = simulator.graph
    return float(graph.edges.lag[graph.loading].sum())


def median_of(asked: Sequence[Predicted]) -> Predicted:
    """The median of each figure."""
    return Predicted(*(statistics.median(values) for values in zip(*asked, strict=True)))


HEAD = (
    "program",
    "question",
    "recorded, ms",
    "replayed, ms",
    "predicted, ms",
    "bounds, ms",
    "happened, ms",
    "error, %",
    "of rounds, %",
    "added up, %",
)


def cells(answer: Answer) -> list[str]:
    """An answer as a row below `HEAD`."""
    asked = answer.asked
    return [
        answer.named,
        text(answer.question),
        f"{asked.recorded:.2f}",
        f"{asked.replayed:.2f}",
        f"{asked.predicted:.2f}",
        f"{asked.low:.2f} to {asked.high:.2f}",
        f"{answer.happened:.2f}",
        *errors_of(answer),
        percent(answer.naive_error),
    ]


def errors_of(answer: Answer) -> list[str]:
    """Cells for the error, and for those of its rounds."""
    return [percent(answer.error), " to ".join(map(percent, answer.spread))]


def percent(part: float) -> str:
    """A part with its sign."""
    return f"{100 * part:+.1f}"
