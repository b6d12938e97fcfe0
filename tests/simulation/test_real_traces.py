"""Replays of real traces: how exact they are, and one answer that is known."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import gallery
import msgspec
import numpy as np
import pytest
import shared_traces

from tb_hookview.analysis.selection import Selection
from tb_hookview.errors import HookviewError
from tb_hookview.loading import load
from tb_hookview.simulation.changes import Change
from tb_hookview.simulation.critical_path import Part
from tb_hookview.simulation.measure import Measure
from tb_hookview.simulation.questions import scaled
from tb_hookview.simulation.replay import Lengths, Replay, Replayer, recorded
from tb_hookview.simulation.simulator import Simulator

pytestmark = pytest.mark.slow

ALLOWED, OF_TRACES = 0.025, 0.95
ROUNDING, BOUND = 1e-3, 0.96
"""Part of a step that rounding may lose; share of the critical path from which on it is bound."""
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


def test_replays_are_near_what_was_recorded_and_hold_together() -> None:
    errors, bound = [], Counter[str]()
    for path in gallery.all_traces():
        for simulator in simulators([path]):
            errors.append(worst(simulator))
            assert simulator.predict(Change()).step == simulator.unchanged.step, path.name
            assert_path_adds_up(simulator, path.name)
            assert_twice_everything_is_twice(simulator, path.name)
            assert_less_is_never_longer(simulator, path.name)
            bound[bound_by(simulator, path.name)] += 1
    assert sum(error <= ALLOWED for error in errors) >= OF_TRACES * len(errors)
    assert len(errors) >= 15
    assert bound["host"] >= 10
    if shared_traces.FOLDER.is_dir():
        assert len(errors) >= 45
        assert bound["kernels"] >= 1


def assert_path_adds_up(simulator: Simulator, name: str) -> None:
    path, steps = simulator.unchanged.path, len(simulator.window.steps)
    total = int((path.end - path.start).sum()) / steps
    assert total == pytest.approx(simulator.unchanged.step, abs=1), name


def assert_twice_everything_is_twice(simulator: Simulator, name: str) -> None:
    graph, lengths = simulator.graph, recorded(simulator.graph)
    twice = Lengths(lengths.duration * 2, lengths.lag * 2, lengths.pause * 2)
    measure = Measure(msgspec.structs.replace(graph, base=graph.base * 2), simulator.window)
    assert measure.pace(Replayer(graph)(twice)).step == 2 * simulator.unchanged.step, name


def assert_less_is_never_longer(simulator: Simulator, name: str) -> None:
    """The last half of a time gains no more than the first: something else binds then."""
    unchanged = simulator.unchanged.step
    for what in ("kernels", "host", "launches", "data", "communication"):
        half, nothing = (stepped(simulator, what, factor) for factor in (0.5, 0))
        assert nothing <= half <= unchanged, (name, what)
        assert half - nothing <= unchanged - half + ROUNDING * unchanged, (name, what)
    assert simulator.step(scaled(simulator.analysis, {"syncs": 0})) <= unchanged, name


def stepped(simulator: Simulator, what: str, factor: float) -> float:
    return simulator.step(scaled(simulator.analysis, {what: factor}))


def bound_by(simulator: Simulator, name: str) -> str:
    """What the steps are bound by, once checked that half of it and of the other gain as they do.

    The critical path still has to be passed: a step loses at most half of what is on it.
    """
    path, unchanged = simulator.unchanged.path, simulator.unchanged.step
    length, steps = path.end - path.start, len(simulator.window.steps)
    found = ""
    for what, other, part in (("kernels", "host", Part.DEVICE), ("host", "kernels", Part.HOST)):
        share = float(length[path.part == part].sum()) / steps / unchanged
        change = stepped(simulator, what, 0.5) / unchanged - 1
        assert change >= -share / 2 - ROUNDING, (name, what)
        if share >= BOUND and stepped(simulator, what, 0) <= unchanged / 2:
            found = what
            assert -0.02 <= stepped(simulator, other, 0.5) / unchanged - 1 <= 0, (name, what)
            if what == "kernels":
                assert -0.5 <= change <= -0.48, name
    return found


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
