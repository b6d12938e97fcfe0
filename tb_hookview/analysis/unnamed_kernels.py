"""Device events of no known kind, where they are much of the device time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.consistency.fault import Fault
from tb_hookview.analysis.device.kinds import OTHER
from tb_hookview.arrays.joins import unique_inverse
from tb_hookview.arrays.sums import sum_by

_SHARE = 0.1
"""Of device time."""
_NAMED = 3


def unnamed_kernels(analysis: Analysis) -> Iterator[Fault]:
    """Count the device events of kind `other`, and name those with the most time."""
    duration = analysis.device_events.duration
    other = np.flatnonzero(analysis.kinds.kind == OTHER)
    time, whole = int(duration[other].sum()), int(duration.sum())
    if not whole or time <= _SHARE * whole:
        return
    names, place = unique_inverse(analysis.trace.events.name[analysis.device_events.event[other]])
    total = sum_by(place, duration[other], len(names))
    top = np.argsort(-total, kind="stable")[:_NAMED]
    texts = tuple(analysis.trace.strings[name] for name in names[top].tolist())
    yield Fault("unnamed-kernels", len(other), share=time / whole, names=texts)
