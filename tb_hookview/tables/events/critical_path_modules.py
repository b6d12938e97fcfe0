"""Modules on the critical path of each replayed step, and the slack of the others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.types import Int
from tb_hookview.schema.tables import CriticalPathModule
from tb_hookview.simulation.path_pieces import PARTS
from tb_hookview.simulation.path_rows import path_sums
from tb_hookview.simulation.simulator import Simulator
from tb_hookview.simulation.slack import UNBOUND
from tb_hookview.tables.events.names import Names
from tb_hookview.tables.model.values import Arrays, Numbers, Values, known, microseconds


def critical_path_modules(selection: Selection) -> Arrays:
    """The table `critical_path_modules`: of the replay with nothing changed."""
    simulator, names = selection.derived(Simulator), Names(selection.analysis)
    if simulator.refused:
        return Arrays(
            np.zeros(0, np.int64), dict.fromkeys(CriticalPathModule.__struct_fields__, lambda _: [])
        )
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
            "step": lambda i: names.step(step[i]),
            "step_id": lambda i: Numbers(step[i]),
            "module": lambda i: names.module(module[i]),
            "module_id": lambda i: known(module[i]),
            "host_us": passed("host"),
            "device_us": passed("device", "communication"),
            "wait_us": passed("wait"),
            "data_us": passed("data"),
            "unexplained_us": passed("unexplained"),
            "slack_us": lambda i: Numbers(slack[i] / 1000, slack[i] < UNBOUND),
        },
    )
