"""The table of steps by torch_tb_profiler's categories, in microseconds."""

from __future__ import annotations

from tb_hookview import schema
from tb_hookview.analysis.breakdown import CATEGORIES, Breakdown
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.units import to_us


def breakdown_rows(selection: Selection, breakdown: Breakdown) -> list[schema.Breakdown]:
    """One row per selected step whose device events are in the trace, in order."""
    names, window = selection.analysis.steps.name, breakdown.window
    return [
        schema.Breakdown(
            id=i,
            step=names[i],
            step_id=i,
            start_us=to_us(window[i, 0]),
            duration_us=to_us(window[i, 1] - window[i, 0]),
            **{
                f"{category}_us": to_us(time)
                for category, time in zip(CATEGORIES, breakdown.time[i].tolist(), strict=True)
            },
        )
        for i in selection.steps
        if i < len(window)
    ]
