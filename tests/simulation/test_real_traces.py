"""Replays of traces that others recorded: how exact they are, and one answer that is known."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import shared_traces

from tb_hookview.analysis.selection import Selection
from tb_hookview.errors import HookviewError
from tb_hookview.loading import load
from tb_hookview.simulation.changes import Change
from tb_hookview.simulation.questions import scaled
from tb_hookview.simulation.replay import Replay, Replayer, recorded
from tb_hookview.simulation.simulator import Simulator

pytestmark = [
    pytest.mark.skipif(
        not shared_traces.FOLDER.is_dir(), reason="no ../shared/traces beside the checkout"
    ),
    pytest.mark.slow,
]

ALLOWED, OF_TRACES = 0.025, 0.95
WITHOUT, WITH = "kineto_resnet50_num_workers_0", "kineto_resnet50_num_workers_4"


def simulators(paths: list[Path]) -> Iterator[Simulator]:
    """Of each trace that is replayed."""
    for path in paths:
        try:
            simulator = Simulator(Selection(load(path), None))
        except HookviewError:  # of damaged files others test
            continue
        if not simulator.refused:
            yield simulator


def worst(simulator: Simulator) -> float:
    """Largest error of the replay: of all steps together, and of each."""
    graph, measure = simulator.graph, simulator.measure
    before = Replay(graph, recorded(graph), graph.nodes.time)
    then = np.diff(measure.completions(before), prepend=graph.base)
    now = np.diff(measure.completions(Replayer(graph)(recorded(graph))), prepend=graph.base)
    each = np.abs(now - then) / np.maximum(then, 1)
    return max(float(each.max()), abs(simulator.unchanged.step / simulator.recorded.step - 1))


def test_replays_are_near_what_was_recorded_and_no_change_changes_nothing() -> None:
    errors = []
    for simulator in simulators(shared_traces.all_traces()):
        errors.append(worst(simulator))
        assert simulator.predict(Change()).step == simulator.unchanged.step
    assert len(errors) >= 30
    assert sum(error <= ALLOWED for error in errors) >= OF_TRACES * len(errors)


@cache
def spans(folder: str) -> list[Simulator]:
    found = [path for path in shared_traces.all_traces() if path.parent.name == folder]
    if len(found) != 2:
        pytest.skip(f"no ../shared/traces/{folder} beside the checkout")
    return list(simulators(found))


def test_a_loader_that_keeps_up_is_predicted_as_it_was_recorded() -> None:
    """The median step of both spans: a few steps with workers take longer."""
    predicted = [
        simulator.predict(scaled(simulator.analysis, {"data": 0})).step
        for simulator in spans(WITHOUT)
    ]
    windows = [
        simulator.analysis.steps.window[list(simulator.window.steps)] for simulator in spans(WITH)
    ]
    happened = np.median(np.concatenate([window[:, 1] - window[:, 0] for window in windows]))
    assert statistics.median(predicted) == pytest.approx(happened, rel=0.08)


def test_a_loader_that_keeps_up_has_nothing_to_gain() -> None:
    for simulator in spans(WITH):
        predicted = simulator.predict(scaled(simulator.analysis, {"data": 0})).step
        assert 0.99 <= predicted / simulator.unchanged.step <= 1
