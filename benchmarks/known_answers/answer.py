"""Predictions next to what happened and to answers without a model; milliseconds a step."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from common.markdown import text

from tb_hookview.analysis.dependencies.graph import EdgeKind
from tb_hookview.simulation.changes import Change
from tb_hookview.simulation.simulator import Simulator

_HOST = (EdgeKind.HOST, EdgeKind.HANDOVER, EdgeKind.QUEUE)


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


class Answer(NamedTuple):
    """A question, what was predicted, and what happened."""

    program: str
    question: str
    asked: Predicted
    happened: float
    note: str = ""
    """Why the prediction is off."""

    @property
    def named(self) -> str:
        """The program, with the note."""
        return text(f"{self.program} ({self.note})" if self.note else self.program)

    @property
    def error(self) -> float:
        """Part by which the prediction is off what happened."""
        return self.asked.predicted / self.happened - 1

    @property
    def naive_error(self) -> float:
        """The same of the answer without a model."""
        return self.asked.naive / self.happened - 1


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
    """Nanoseconds a step by which everything that is changed gets longer, together."""
    graph, lengths, syncs = simulator.graph, simulator.lengths(change), simulator.analysis.syncs
    device = lengths.duration - graph.nodes.duration
    host = (lengths.lag - graph.edges.lag)[graph.edges.of(*_HOST)]
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
    "added up, ms",
    "error, %",
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
        f"{100 * answer.error:+.1f}",
        f"{asked.naive:.2f}",
        f"{100 * answer.naive_error:+.1f}",
    ]
