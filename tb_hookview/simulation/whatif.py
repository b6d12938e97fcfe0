"""A prediction as an answer, in microseconds per step."""

from __future__ import annotations

import numpy as np

from tb_hookview import schema
from tb_hookview.simulation.changes import Change
from tb_hookview.simulation.path_rows import PARTS, in_us, path_kinds, path_modules, path_parts
from tb_hookview.simulation.simulator import Prediction, Simulator


def what_if(
    simulator: Simulator, change: Change, *, modules: bool = True, refused: str | None = None
) -> schema.WhatIf:
    """Predict the length of a step with a change.

    Args:
        simulator: replays the steps.
        change: what is changed.
        modules: whether to find the critical path by module, and slack (as long as the rest).
        refused: why the change is not known; None where it is.
    """
    if refused := simulator.refused or refused:
        return schema.WhatIf(
            step_us=None,
            replayed_us=None,
            predicted_us=None,
            low_us=None,
            high_us=None,
            unexplained_us=None,
            launches_known=simulator.window.launches_known,
            critical_path=None,
            replayed_path=None,
            path_modules=None,
            path_modules_left_out=None,
            path_modules_rest=None,
            path_kinds=None,
            steps=len(simulator.window.steps),
            refused=refused,
        )
    unchanged, prediction = simulator.unchanged, simulator.predict(change)
    replayed_path, base = path_time(unchanged), simulator.unrecorded
    by_module = path_modules(prediction) if modules else None
    return schema.WhatIf(
        step_us=simulator.recorded.step / 1000,
        replayed_us=unchanged.step / 1000,
        predicted_us=prediction.step / 1000,
        unrecorded_us=base.pace.step / 1000 if base else None,
        unrecorded_predicted_us=simulator.step(change, base) / 1000 if base else None,
        low_us=prediction.low / 1000,
        high_us=prediction.high / 1000,
        unexplained_us=replayed_path.unexplained,
        launches_known=simulator.window.launches_known,
        critical_path=path_time(prediction),
        replayed_path=replayed_path,
        path_modules=by_module and by_module.listed,
        path_modules_left_out=by_module and by_module.left_out,
        path_modules_rest=by_module and by_module.rest,
        path_kinds=path_kinds(prediction) if modules else None,
        steps=len(simulator.window.steps),
        refused=None,
    )


def path_time(prediction: Prediction) -> schema.PathTime:
    """Time of the critical path of a prediction, microseconds per step."""
    path, steps = prediction.path, len(prediction.simulator.window.steps)
    time = np.bincount(path_parts(prediction), path.end - path.start, minlength=len(PARTS))
    return in_us(time, steps)
