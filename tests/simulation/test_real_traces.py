"""Replays of a training that was recorded with and without workers for its loader."""

from __future__ import annotations

import statistics
from functools import cache

import numpy as np
import pytest
import shared_traces

from tb_hookview.analysis.selection import Selection
from tb_hookview.loading import load
from tb_hookview.simulation.questions import scaled
from tb_hookview.simulation.simulator import Simulator

pytestmark = pytest.mark.slow

WITHOUT, WITH = "kineto_resnet50_num_workers_0", "kineto_resnet50_num_workers_4"


@cache
def spans(folder: str) -> list[Simulator]:
    found = [path for path in shared_traces.all_traces() if path.parent.name == folder]
    if len(found) != 2:
        pytest.skip(f"no ../shared/traces/{folder} beside the checkout")
    return [Simulator(Selection(load(path), None)) for path in found]


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
