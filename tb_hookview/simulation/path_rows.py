"""The critical path of a prediction by module and by kernel kind, with slack."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from msgspec import Struct

from tb_hookview import schema
from tb_hookview.arrays.types import Float, Int, Nanoseconds
from tb_hookview.simulation.path_pieces import PARTS, path_pieces
from tb_hookview.simulation.simulator import Prediction
from tb_hookview.simulation.slack import UNBOUND

_ON_PATH, _OFF_PATH = 100, 50
"""Modules on the path, and off it, that an answer lists."""


class PathSums(Struct, frozen=True):
    """Time on the path of each module and step, and by how much it may grow."""

    time: Nanoseconds
    """Shape (steps, modules + 1, parts); the last module is "not in a module"."""
    slack: Nanoseconds
    """Shape (steps, modules + 1); `UNBOUND` where nothing waits for it, and without any part."""
    there: np.ndarray
    """Whether a module has device events or host time in a step, shape (steps, modules + 1)."""


def path_sums(prediction: Prediction) -> PathSums:
    """Sum up the path by step and module."""
    simulator, pieces = prediction.simulator, path_pieces(prediction)
    size = len(simulator.window.steps), len(simulator.analysis.modules) + 1
    time = np.zeros((*size, len(PARTS)), np.int64)
    np.add.at(time, (pieces.step, pieces.module, pieces.part), pieces.end - pieces.start)
    step, module, least = _parts(prediction)
    slack, there = np.full(size, UNBOUND), np.zeros(size, bool)
    np.minimum.at(slack, (step, module), least)
    there[step, module] = True
    return PathSums(time, slack, there | time.any(axis=2))


def _parts(prediction: Prediction) -> tuple[Int, Int, Nanoseconds]:
    """Step, module and slack of each device event and of each module's part of a host edge."""
    simulator, graph = prediction.simulator, prediction.replay.graph
    window, spans, slack = simulator.window, simulator.host_spans, prediction.slack
    events = np.flatnonzero((window.step >= 0) & ~window.history)
    of_event = simulator.analysis.device_attribution.module[window.events[events]]
    worked = (spans.time[:, 1] > spans.time[:, 0]) & ~graph.loading[spans.edge]
    ends = graph.nodes.time[graph.step_end] + window.start
    step = np.searchsorted(ends, spans.time[worked, 1], side="left")
    return (
        np.concatenate([window.step[events], np.minimum(step, len(ends) - 1)]),
        np.concatenate([of_event, spans.module[worked]]),
        np.concatenate(
            [slack.duration[graph.nodes.of_event[events]], slack.edge[spans.edge[worked]]]
        ),
    )


class PathModules(NamedTuple):
    """Modules of an answer."""

    listed: list[schema.PathModule]
    """The longest on the path, then those off it with the least slack."""
    left_out: int
    """Number of the others."""
    rest: schema.PathTime
    """Time on the path of the others."""


def path_modules(prediction: Prediction) -> PathModules:
    """Choose the modules of an answer."""
    sums = path_sums(prediction)
    steps, paths = len(sums.time), prediction.simulator.analysis.modules.path
    time, slack = sums.time.sum(axis=0), sums.slack.min(axis=0)
    rows = np.flatnonzero(sums.there.any(axis=0))
    total = time[rows].sum(axis=1)
    rows = rows[np.lexsort((rows, slack[rows], -total))]
    on_path = int(np.count_nonzero(total))
    shown = np.concatenate([rows[:on_path][:_ON_PATH], rows[on_path:][:_OFF_PATH]])
    rest = time.sum(axis=0) - time[shown].sum(axis=0)
    listed = [
        schema.PathModule(
            module=paths[row] if row < len(paths) else None,
            module_id=row if row < len(paths) else None,
            path=schema.PathTime(*us),
            slack_us=slack_us(least, steps),
        )
        for row, us, least in zip(
            shown.tolist(),
            (time[shown] / 1000 / steps).tolist(),
            slack[shown].tolist(),
            strict=True,
        )
    ]
    return PathModules(listed, len(rows) - len(listed), in_us(rest, steps))


def in_us(time: Float | Nanoseconds, steps: int) -> schema.PathTime:
    """Nanoseconds of each of `PARTS` over some steps, as microseconds per step."""
    return schema.PathTime(*(np.asarray(time) / 1000 / steps).tolist())


def path_kinds(prediction: Prediction) -> list[schema.PathKind]:
    """Kinds of device events, those first that are longest on the path, then by slack."""
    simulator, path = prediction.simulator, prediction.path
    window, steps = simulator.window, len(simulator.window.steps)
    kinds = simulator.analysis.kinds.kind
    ran = path.event >= 0
    time = np.bincount(
        kinds[path.event[ran]], (path.end - path.start)[ran], minlength=len(schema.KINDS)
    )
    events = np.flatnonzero((window.step >= 0) & ~window.history)
    slack = np.full(len(schema.KINDS), UNBOUND)
    kind = kinds[window.events[events]]
    nodes = prediction.replay.graph.nodes.of_event[events]
    np.minimum.at(slack, kind, prediction.slack.duration[nodes])
    whole = np.bincount(kind, prediction.replay.lengths.duration[nodes], minlength=len(slack))
    there = np.flatnonzero((np.bincount(kind, minlength=len(slack)) > 0) | (time > 0))
    return [
        schema.PathKind(
            kind=schema.KINDS[row],
            device_us=float(whole[row]) / 1000 / steps,
            path_us=float(time[row]) / 1000 / steps,
            slack_us=slack_us(int(slack[row]), steps),
        )
        for row in there[np.lexsort((there, slack[there], -time[there]))].tolist()
    ]


def slack_us(slack: int, steps: int) -> float | None:
    """Slack in microseconds per step; None where nothing waits."""
    return None if slack >= UNBOUND else slack / 1000 / steps
