"""Device events of CUDA and HIP graphs."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.device.events import DeviceEvents
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.arrays.joins import isin, unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, DeviceEventIndex


def of_graph(host: HostRows, events: DeviceEvents, chosen: DeviceEventIndex) -> Bool:
    """Whether each of some device events is of a graph, by graph number or launch."""
    numbered = host.trace.events.graph[events.event[chosen]] > 0
    strings = lookup(host.string, events.launch[chosen])
    known = unique(strings[strings >= 0]).tolist()
    graphs = [string for string in known if "GraphLaunch" in host.trace.strings[string]]
    return np.asarray(numbered | isin(strings, graphs))
