"""Peaks of the devices of a trace."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.flops.peaks import name_of, peaks_of
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.joins import unique
from tb_hookview.tables.model.values import Arrays, Numbers


def device_peaks(selection: Selection) -> Arrays:
    """The table `device_peaks`: of the devices with events, by type; those unknown have none."""
    analysis = selection.analysis
    found = [
        (str(number), peaks, dtype)
        for number in unique(analysis.device_events.device).tolist()
        if (peaks := peaks_of(name_of(analysis.trace.devices, number)))
        for dtype in peaks.tflops
    ]
    return Arrays(
        np.arange(len(found)),
        {
            "id": Numbers,
            "device_id": lambda i: [found[place][0] for place in i.tolist()],
            "name": lambda i: [found[place][1].device for place in i.tolist()],
            "dtype": lambda i: [found[place][2] for place in i.tolist()],
            "tflop_per_s": lambda i: Numbers(
                np.array([found[p][1].tflops[found[p][2]] for p in i.tolist()], np.float64)
            ),
            "gb_per_s": lambda i: Numbers(
                np.array([found[p][1].gb_per_s for p in i.tolist()], np.float64)
            ),
            "source": lambda i: [found[place][1].source for place in i.tolist()],
            "confirmed": lambda i: [found[place][1].confirmed or None for place in i.tolist()],
        },
    )
