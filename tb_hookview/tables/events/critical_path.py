"""The critical path of the replayed steps, piece by piece."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.nesting import lookup
from tb_hookview.schema.tables import CriticalPathPiece
from tb_hookview.simulation.path_pieces import PARTS, path_pieces
from tb_hookview.simulation.simulator import Simulator
from tb_hookview.tables.events.names import Names, kind_texts
from tb_hookview.tables.model.values import Arrays, Numbers, Texts, known, microseconds


def critical_path(selection: Selection) -> Arrays:
    """The table `critical_path`: of the replay with nothing changed."""
    simulator, names = selection.derived(Simulator), Names(selection.analysis)
    if simulator.refused:
        return Arrays(
            np.zeros(0, np.int64), dict.fromkeys(CriticalPathPiece.__struct_fields__, lambda _: [])
        )
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
            "step": lambda i: names.step(step[i]),
            "step_id": lambda i: Numbers(step[i]),
            "module": lambda i: names.module(pieces.module[i]),
            "module_id": lambda i: known(pieces.module[i]),
            "kind": lambda i: kind_texts(lookup(analysis.kinds.kind, pieces.event[i])),
            "event_id": lambda i: known(lookup(analysis.device_events.event, pieces.event[i])),
            "thread_id": lambda i: known(pieces.thread[i]),
        },
    )
