"""Replays: near what was recorded, and consistent with one another."""

from __future__ import annotations

import gallery
import numpy as np
import pytest
from invariants.case import Case
from invariants.registry import Of, invariant

from tb_hookview.analysis.dependencies.graph import EdgeKind
from tb_hookview.simulation.changes import Change
from tb_hookview.simulation.critical_path import Part
from tb_hookview.simulation.questions import scaled
from tb_hookview.simulation.replay import Lengths, Measure, Replay, Replayer, recorded
from tb_hookview.simulation.simulator import Simulator

ALLOWED = 0.025
"""Error of a replay with nothing changed, as a share of the step."""
BEGINNING = 4e-3
"""Part of a step by which a change moves how far behind the device is as measured steps begin."""
SHARED_DEVICE = {"gpu.late_rank.even": 0.04}
"""The same where other ranks' processes take turns on the device."""
ROUNDING = 1e-3
"""Part of a step that rounding may lose."""
BOUND = 0.96
"""Share of the critical path from which on a step is bound by what has it."""
REFUSED = ("hta_compare_base", "hta_compare_test", "hta_mtia_inference")
"""They lack the launches of over a tenth of the device's time."""
BOUND_BY_KERNELS = "tracelens_mi300_compile_triton"


@invariant(Of.RECORDINGS)
def what_has_its_launches_is_replayed(case: Case) -> None:
    assert bool(case.simulator.refused) == case.name.startswith(REFUSED)


@invariant(Of.RECORDINGS)
def a_replay_takes_what_was_recorded(case: Case) -> None:
    """All steps together, and each."""
    if (simulator := case.simulator).refused:
        return
    graph, measure = simulator.graph, simulator.measure
    before = Replay(graph, recorded(graph), graph.nodes.time)
    after = Replayer(graph)(recorded(graph))
    then, now = (
        np.diff(measure.completions(each), prepend=measure.base(each)) for each in (before, after)
    )
    allowed = SHARED_DEVICE.get(case.name, ALLOWED)
    assert (np.abs(now - then) <= allowed * np.maximum(then, 1)).all()
    assert simulator.unchanged.step == pytest.approx(simulator.recorded.step, rel=allowed)


@invariant()
def a_replay_with_nothing_changed_is_the_unchanged_one(case: Case) -> None:
    if not (simulator := case.simulator).refused:
        assert simulator.predict(Change()).step == simulator.unchanged.step


@invariant()
def the_critical_path_adds_up_to_the_step(case: Case) -> None:
    if (simulator := case.simulator).refused:
        return
    nothing = scaled(simulator.analysis, {"kernels": 0, "host": 0})
    for prediction in (simulator.unchanged, simulator.predict(nothing)):
        path, steps = prediction.path, len(simulator.window.steps)
        total = int((path.end - path.start).sum()) / steps
        assert total == pytest.approx(prediction.step, abs=1)


@invariant()
def twice_everything_takes_twice_as_long(case: Case) -> None:
    if not ((simulator := case.simulator).refused or case.clock_jumps):
        graph, lengths = simulator.graph, recorded(simulator.graph)
        twice = Lengths(lengths.duration * 2, lengths.lag * 2, lengths.pause * 2)
        measure = Measure(graph, simulator.window)
        assert measure.pace(Replayer(graph)(twice)).step == 2 * simulator.unchanged.step


@invariant(Of.RECORDINGS)
def less_of_anything_is_never_longer(case: Case) -> None:
    """The last half of a time gains no more than the first: something else binds then."""
    if (simulator := case.simulator).refused:
        return
    unchanged = simulator.unchanged.step
    for what in ("kernels", "host", "launches", "data", "communication"):
        half, nothing = (_stepped(simulator, what, factor) for factor in (0.5, 0))
        assert nothing <= half <= unchanged, what
        assert half - nothing <= unchanged - half + ROUNDING * unchanged, what
    assert simulator.step(scaled(simulator.analysis, {"syncs": 0})) <= unchanged


@invariant()
def a_step_is_no_longer_without_the_cost_of_recording(case: Case) -> None:
    simulator, verdict = case.simulator, case.report.verdict
    if simulator.refused or simulator.unrecorded is None:
        assert verdict.unrecorded_step_us is None
        return
    lag, before = simulator.unrecorded.replay.lengths.lag, simulator.graph.edges.lag
    assert ((lag >= 0) | (lag == before)).all()
    step = simulator.unrecorded.pace.step
    assert 0 <= step <= simulator.unchanged.step
    gains = [row.unrecorded_gain_us_per_step for row in case.report.findings]
    assert all(0 <= gain <= step / 1000 for gain in gains if gain is not None)


@invariant(Of.RECORDINGS)
def what_a_step_is_bound_by_decides_what_it_gains(case: Case) -> None:
    """Half of it gains half of the step, and half of the other nothing."""
    if case.simulator.refused:
        return
    bound = {what: _is_bound_by(case, what, other) for what, other in (_KERNELS, _HOST)}
    if case.name.startswith(BOUND_BY_KERNELS):
        assert bound["kernels"]
        assert -0.5 <= _change(case, "kernels", 0.5) <= -0.48
    waits = case.name.startswith("late_rank") or case.report.verdict.bound == "data"
    if case.path in gallery.recordings() and not waits:
        assert bound["host"]  # their one device is the CPU


_KERNELS, _HOST = ("kernels", "host"), ("host", "kernels")
_PARTS = {"kernels": Part.DEVICE, "host": Part.HOST}


def _is_bound_by(case: Case, what: str, other: str) -> bool:
    """The critical path still has to be passed: a step loses at most half of what is on it.

    The device's backlog from before the steps is on it, too, and gets shorter with kernels.
    """
    simulator = case.simulator
    path, graph = simulator.unchanged.path, simulator.graph
    length, mine = path.end - path.start, path.part == _PARTS[what]
    backlog = (what == "kernels") & ~mine & (graph.edges.kind[path.edge] == EdgeKind.ORIGIN)
    whole = len(simulator.window.steps) * simulator.unchanged.step
    share, waited = (float(length[rows].sum()) / whole for rows in (mine, backlog))
    assert _change(case, what, 0.5) >= -(share + waited) / 2 - BEGINNING, what
    bound = share >= BOUND and _change(case, what, 0) <= -0.5
    if bound:
        assert -0.02 <= _change(case, other, 0.5) <= 0, what
    return bound


def _change(case: Case, what: str, factor: float) -> float:
    """How much longer a step is with a factor on what it spends, as a share of it."""
    return _stepped(case.simulator, what, factor) / case.simulator.unchanged.step - 1


def _stepped(simulator: Simulator, what: str, factor: float) -> float:
    return simulator.step(scaled(simulator.analysis, {what: factor}))
