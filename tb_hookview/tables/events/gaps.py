"""Idle time of the devices, gap by gap."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.nesting import lookup
from tb_hookview.tables.events.names import Names
from tb_hookview.tables.model.values import Arrays, Numbers, Texts, known, microseconds

_CAUSES = [cause.name.lower() for cause in Cause]


def gaps(selection: Selection) -> Arrays:
    """The table `gaps`: those that began in a selected step."""
    analysis, names = selection.analysis, Names(selection.analysis)
    idle, tree, step = analysis.gaps, analysis.call_tree, analysis.steps.at(analysis.gaps.start)
    return Arrays(
        np.flatnonzero(selection.times(idle.start)),
        {
            "id": Numbers,
            "device_id": lambda i: names.device(idle.device[i]),
            "start_us": lambda i: microseconds(idle.start[i]),
            "duration_us": lambda i: microseconds(idle.duration[i]),
            "cause": lambda i: Texts(_CAUSES, idle.cause[i]),
            "step": lambda i: names.step(step[i]),
            "step_id": lambda i: known(step[i]),
            "sync_id": lambda i: known(idle.sync[i]),
            "event_id": lambda i: known(lookup(tree.event, idle.row[i])),
            "ended_by_id": lambda i: known(
                lookup(analysis.device_events.event, idle.device_event[i])
            ),
        },
    )
