"""The recorder's marks, their share of the time, and how much longer a recorded step was."""

from __future__ import annotations

from statistics import median_low

import msgspec
import numpy as np

from tb_hookview import markers, schema
from tb_hookview.analysis.host.rows import MARK_ROLES, TIMED_MARKS
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.joins import isin, unique
from tb_hookview.arrays.types import Bool, to_us
from tb_hookview.trace.format.manifest import Manifest


def recorder_share(selection: Selection) -> schema.Recorder | None:
    """Sum the recorder's marks up; None where the trace holds none.

    A mark counts where it began within a selected step, on whatever thread. Its cost is the one
    that the manifest gives for its kind, in microseconds.
    """
    host = selection.analysis.host
    is_mark = isin(host.role, [int(role) for role in MARK_ROLES])
    if not is_mark.any():
        return None
    manifest = host.trace.manifest
    steps = selection.analysis.steps
    chosen = isin(steps.at(host.call_tree.start), selection.steps)
    marks = schema.Marks(**{kind: _count(selection, chosen, kind) for kind in TIMED_MARKS})
    cost = _cost_us(marks, manifest.cost_us if manifest else {})
    duration = to_us(np.diff(steps.window[list(selection.steps)]).sum())
    return schema.Recorder(
        version=_version(selection, is_mark),
        markers=list(manifest.markers) if manifest else [],
        marks=marks,
        own_host_us=cost,
        own_share=cost / duration if cost is not None and duration > 0 else None,
    )


def _count(selection: Selection, chosen: Bool, kind: str) -> int:
    role = selection.analysis.host.role
    return int(np.count_nonzero(chosen & isin(role, [int(each) for each in TIMED_MARKS[kind]])))


def _cost_us(marks: schema.Marks, each_us: dict[str, float | None]) -> float | None:
    """Return the marks' time; None where the cost of a kind is unknown."""
    total = 0.0
    for kind, count in msgspec.structs.asdict(marks).items():
        if not count:
            continue
        if (cost := each_us.get(kind)) is None:
            return None
        total += count * cost
    return total if each_us else None


def _version(selection: Selection, is_mark: Bool) -> int | None:
    host = selection.analysis.host
    texts = (host.trace.strings[string] for string in unique(host.string[is_mark]).tolist())
    decoded = (markers.decode(text) for text in texts)
    return max((mark.version for mark in decoded if mark is not None), default=None)


_ENOUGH = 2
"""Steps not recorded that are compared with; a single one may be the one that compiles."""


def recording(manifest: Manifest | None) -> schema.Recording | None:
    """Compare the recorder's self times of steps; None where it has none."""
    if manifest is None or not (manifest.recorded_us or manifest.unrecorded_us):
        return None
    recorded = median_low(manifest.recorded_us) if manifest.recorded_us else None
    unrecorded = median_low(manifest.unrecorded_us) if manifest.unrecorded_us else None
    enough = len(manifest.unrecorded_us) >= _ENOUGH
    return schema.Recording(
        unrecorded_step_us=unrecorded,
        recorded_step_us=recorded,
        slowdown=recorded / unrecorded if recorded and unrecorded and enough else None,
        unrecorded_steps=len(manifest.unrecorded_us),
        recorded_steps=len(manifest.recorded_us),
    )
