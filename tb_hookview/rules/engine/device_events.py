"""Queries of rules about device events: counted, launched by, time."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.device.replayed import of_graph
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import isin, unique
from tb_hookview.arrays.types import Bool, DeviceEventIndex, Nanoseconds
from tb_hookview.rules.engine.names import NamedRows
from tb_hookview.rules.engine.steps import StepContext
from tb_hookview.schema import KINDS
from tb_hookview.trace import EventCategory


class DeviceEventContext(NamedRows, frozen=True):
    """Kernels, copies and memsets; masks are over all of them, shape (d,)."""

    analysis: Analysis
    steps: StepContext

    @cached_property
    def counted(self) -> Bool:
        """Device events of measured steps, by `Analysis.device_event_step`."""
        return isin(self.analysis.device_event_step, self.steps.indices)

    def name_of(self, event: int) -> str:
        """Name of a device event."""
        return self.strings[int(self.name[event])]

    @cached_property
    def devices(self) -> list[int]:
        """Devices, as the trace numbers them, that ran an event in measured steps."""
        return unique(self.analysis.device_events.device[self.counted]).tolist()  # type: ignore[no-any-return]

    def copies_matching(self, pattern: str) -> Bool:
        """Copies in whose name a regular expression finds a match."""
        rows, names = self._copies
        found = np.zeros(len(self.name), bool)
        found[rows] = names.matching(pattern)
        return found

    @cached_property
    def _copies(self) -> tuple[DeviceEventIndex, NamedRows]:
        kind = self.analysis.trace.events.kind[self.analysis.device_events.event]
        rows = np.flatnonzero(kind == EventCategory.COPY)
        return rows, NamedRows(self.strings, self.name[rows])

    @cached_property
    def of_graph(self) -> Bool:
        """Device events of CUDA and HIP graphs: the trace lacks the operators in these."""
        events = self.analysis.device_events
        return of_graph(self.analysis.host, events, np.arange(len(events)))

    def launched_by(self, rows: Bool) -> Bool:
        """Device events launched by one of some call tree rows (see `RowContext.inside`)."""
        launch = self.analysis.device_events.launch
        if not len(rows):
            return np.zeros(len(launch), bool)
        return np.asarray((launch >= 0) & rows[launch])

    def of_kinds(self, *kinds: str) -> Bool:
        """Device events of these kinds (see `schema.KINDS`)."""
        wanted = np.zeros(len(KINDS), bool)
        wanted[[KINDS.index(kind) for kind in kinds]] = True
        return np.asarray(wanted[self.analysis.kinds.kind])

    def us_per_step(self, chosen: Bool) -> float:
        """Durations of those of some device events that count, summed, microseconds per step."""
        duration = self.analysis.device_events.duration[chosen & self.counted]
        return self.steps.us_per_step(duration.sum())

    def share(self, chosen: Bool) -> float:
        """Time in which any of them ran, as a share of the devices' time in events that count."""
        if not self.steps.work_us:
            return 0.0
        events, mine = self.analysis.device_events, chosen & self.counted
        time = sum(
            intervals.length(events.time_of(mine & (events.device == device)))
            for device in self.devices
        )
        return self.steps.us_per_step(time) / self.steps.work_us

    def starts(self, chosen: Bool) -> Nanoseconds:
        """Starts of those of some device events that count, nanoseconds."""
        return self.analysis.device_events.start[chosen & self.counted]
