"""All checks of a trace."""

from __future__ import annotations

from tb_hookview.analysis.autograd.nodes import Nodes
from tb_hookview.analysis.consistency.clocks import ClockErrors, clock_jumps
from tb_hookview.analysis.consistency.device_rows import (
    impossible_lengths,
    lost_device_events,
    overlaps,
    without_launch,
)
from tb_hookview.analysis.consistency.fault import Fault, counted
from tb_hookview.analysis.consistency.marks import unusable_marks
from tb_hookview.analysis.consistency.numbers import (
    external_id_conflicts,
    shared_numbers,
    silent_collectives,
    unlinked_waits,
)
from tb_hookview.analysis.device.events import DeviceEvents, repeated_launches
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.analysis.modules.tree import Modules


def find_faults(
    host: HostRows,
    nodes: Nodes,
    modules: Modules,
    device_events: DeviceEvents,
    clocks: ClockErrors,
    bounds: tuple[int, int],
) -> tuple[Fault, ...]:
    """Find what puts in doubt a trace; nothing for a correct one.

    Args:
        clocks: contradictions of the clocks.
        bounds: first start and last end of the trace, nanoseconds.
    """
    repeated = repeated_launches(host.trace, host.call_tree, device_events)
    return (
        *clock_jumps(host.trace, *bounds),
        *clocks.faults(),
        *impossible_lengths(host, device_events),
        *overlaps(host, device_events),
        *lost_device_events(host, device_events),
        *without_launch(device_events),
        *counted("repeated-correlation", repeated),
        *external_id_conflicts(host),
        *shared_numbers(host, nodes),
        *silent_collectives(host),
        *unlinked_waits(host),
        *unusable_marks(host, modules),
    )
