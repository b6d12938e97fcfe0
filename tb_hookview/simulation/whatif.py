"""A prediction as an answer, in microseconds a step."""

from __future__ import annotations

import numpy as np

from tb_hookview import schema
from tb_hookview.analysis.device.kinds import COMMUNICATION
from tb_hookview.arrays.types import Bool
from tb_hookview.simulation.changes import Change
from tb_hookview.simulation.critical_path import Part
from tb_hookview.simulation.simulator import Prediction, Simulator


def what_if(simulator: Simulator, change: Change) -> schema.WhatIf:
    """Predict the length of a step with a change."""
    window = simulator.window
    if refused := simulator.refused:
        return schema.WhatIf(
            step_us=None,
            replayed_us=None,
            predicted_us=None,
            low_us=None,
            high_us=None,
            unexplained_us=None,
            launches_known=window.launches_known,
            critical_path=None,
            replayed_path=None,
            steps=len(window.steps),
            refused=refused,
        )
    unchanged, prediction = simulator.unchanged, simulator.predict(change)
    replayed_path = path_time(simulator, unchanged)
    return schema.WhatIf(
        step_us=simulator.recorded.step / 1000,
        replayed_us=unchanged.step / 1000,
        predicted_us=prediction.step / 1000,
        low_us=prediction.low / 1000,
        high_us=prediction.high / 1000,
        unexplained_us=replayed_path.unexplained,
        launches_known=window.launches_known,
        critical_path=path_time(simulator, prediction),
        replayed_path=replayed_path,
        steps=len(window.steps),
        refused=None,
    )


def path_time(simulator: Simulator, prediction: Prediction) -> schema.PathTime:
    """Time of the critical path of a prediction, microseconds a step."""
    path, analysis = prediction.path, simulator.analysis
    length = path.end - path.start
    collective = np.append(analysis.kinds.kind == COMMUNICATION, False)[path.event]
    loading = np.append(simulator.graph.loading, False)[path.edge]

    def us(wanted: Bool) -> float:
        return float(length[wanted].sum()) / 1000 / len(simulator.window.steps)

    host, device = path.part == Part.HOST, path.part == Part.DEVICE
    return schema.PathTime(
        host=us(host & ~loading),
        device=us(device & ~collective),
        communication=us(device & collective),
        wait=us(path.part == Part.LATENCY),
        data=us(host & loading),
        unexplained=us(path.part == Part.PAUSE),
    )
