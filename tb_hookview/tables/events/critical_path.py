"""The critical path of the replayed steps, piece by piece and by module; slack of the others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Int
from tb_hookview.schema.tables import CriticalPathModule, CriticalPathPiece
from tb_hookview.simulation.critical_path import UNBOUND
from tb_hookview.simulation.path_rows import PARTS, path_pieces, path_sums
from tb_hookview.simulation.simulator import Simulator
from tb_hookview.tables.events.names import Names, kind_texts
from tb_hookview.tables.model.columns import (
    Arrays,
    Numbers,
    Texts,
    Values,
    known,
    microseconds,
    no_rows,
)


def critical_path(selection: Selection) -> Arrays:
    """The table `critical_path`: of the replay with nothing changed."""
    simulator, names = selection.derived(Simulator), Names(selection.analysis)
    if simulator.refused:
        return no_rows(CriticalPathPiece)
    analysis, window = selection.analysis, simulator.window
    pieces = path_pieces(simulator.unchanged)
    step = np.array(window.steps)[pieces.step]
    return Arrays(
        np.arange(len(step)),
        {
            "id": Numbers,
            "part": lambda i: Texts(PARTS, pieces.part[i]),
            "start_us": lambda i: microseconds(pieces.start[i] + window.start),
            "duration_us": lambda i: microseconds(pieces.end[i] - pieces.start[i]),
            **names.step_columns(step),
            **names.module_columns(pieces.module),
            "kind": lambda i: kind_texts(lookup(analysis.kinds.kind, pieces.event[i])),
            "event_id": lambda i: known(lookup(analysis.device_events.event, pieces.event[i])),
            "thread_id": lambda i: known(pieces.thread[i]),
        },
    )


def critical_path_modules(selection: Selection) -> Arrays:
    """The table `critical_path_modules`: of the replay with nothing changed."""
    simulator, names = selection.derived(Simulator), Names(selection.analysis)
    if simulator.refused:
        return no_rows(CriticalPathModule)
    sums = path_sums(simulator.unchanged)
    place, module = np.nonzero(sums.there)
    step, time = np.array(simulator.window.steps)[place], sums.time[place, module]
    slack = sums.slack[place, module]
    module = np.where(module < len(selection.analysis.modules), module, -1)

    def passed(*parts: str) -> Callable[[Int], Values]:
        columns = [PARTS.index(part) for part in parts]
        return lambda i: microseconds(time[i][:, columns].sum(axis=1))

    return Arrays(
        np.arange(len(step)),
        {
            "id": Numbers,
            **names.step_columns(step),
            **names.module_columns(module),
            "host_us": passed("host"),
            "device_us": passed("device", "communication"),
            "wait_us": passed("wait"),
            "data_us": passed("data"),
            "unexplained_us": passed("unexplained"),
            "slack_us": lambda i: Numbers(slack[i] / 1000, slack[i] < UNBOUND),
        },
    )
