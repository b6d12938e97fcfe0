"""FLOPs and utilization of steps."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.selection import Selection
from tb_hookview.analysis.utilization import utilization
from tb_hookview.arrays.joins import pair_key, unique
from tb_hookview.tables.events.names import Names
from tb_hookview.tables.events.utilization_columns import utilization_columns
from tb_hookview.tables.model.values import Arrays, Numbers, microseconds


def step_utilization(selection: Selection) -> Arrays:
    """The table `step_utilization`: the selected steps in order."""
    analysis = selection.analysis
    steps, names, count = analysis.steps, Names(analysis), len(analysis.steps.name)
    step = analysis.device_event_step
    of = utilization(selection, steps.at(analysis.call_tree.start), step, count)
    mine = step >= 0
    pairs = unique(pair_key(step[mine], analysis.device_events.device[mine] + 1))
    devices = np.maximum(np.bincount(pairs >> 32, minlength=count), 1)
    length = steps.window[:, 1] - steps.window[:, 0]
    any_event = len(analysis.call_tree) + len(analysis.device_events) > 0
    return Arrays(
        np.array(selection.steps if any_event else [], np.int64),
        {
            **utilization_columns(analysis, of, (length * devices).astype(np.float64)),
            "id": Numbers,
            "step": lambda i: names.step(i),
            "duration_us": lambda i: microseconds(length[i]),
        },
    )
