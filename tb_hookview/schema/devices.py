"""Rows about devices, their streams and their kernels."""

from __future__ import annotations

from msgspec import Struct

from tb_hookview.schema.terms import Count, MeanCount, Percent, Share, TimeByPhase, Us


class DeviceUse(Struct, frozen=True):
    """Use of the time of one device."""

    id: str
    """As `device`."""
    device: str
    span_us: Us
    """From the first start to the last end of the selected work."""
    busy_us: Us
    """The part of it in which any work ran."""
    compute_us: Us
    """Time in which any kernel ran that is not a collective's."""
    communication_us: Us
    """Time in which any kernel of a collective ran."""
    overlapped_us: Us
    """Time in which both ran."""
    kernel_us: Us
    """Sum of the kernels' durations."""
    tensor_core_us: Us
    """The part of it on tensor cores, by the kernels' names."""
    tensor_core_eligible_us: Us
    """The part of it launched by an operator that tensor cores could serve (the list is in
    `tensor_cores.py`) and that holds no other such operator."""
    utilization: Share | None
    """Share of the selected steps as in `breakdown` (from the first one's start to the last one's
    end) in which any kernel ran. Copies do not count."""
    sm_efficiency: Share | None
    """Mean over the same time of the sum of `blocks per SM` of the kernels that run, of which at
    most one counts; null where these arguments are not in the trace (AMD, torch's second
    exporter)."""
    occupancy_pct: Percent | None
    """Mean of `est. achieved occupancy %`, weighted by the kernels' time in it; null where it is
    not in the trace (AMD, torch's second exporter)."""


class Stream(Struct, frozen=True):
    """One stream of a device: events, gaps between them, queue of launched events.

    A gap lies between the latest end so far and the next start. Another stream may have worked
    meanwhile: why the device as a whole idled is in `steps[].idle`.
    """

    id: int
    device: str
    device_id: str
    stream: str
    """Its name; a lane where torch drew the events of CUDA graphs on lanes (`graph_lanes`), each
    with the stream that it ran on as its argument `original_stream`."""
    count: Count
    """Device events."""
    busy_us: Us
    """Time in which any work ran."""
    host_us: Us | None
    """Gaps before events launched after the gap began. Null, as all below, without any launch."""
    kernel_us: Us | None
    """Gaps shorter than 30 us before events that were launched before the gap began."""
    other_us: Us | None
    """The other gaps: longer ones, and those before events whose launch is not known."""
    queue_mean: MeanCount | None
    """Device events launched on the stream that have not begun, mean over time. One more with the
    start of each launch, one less with each start of work."""
    queue_max: Count | None
    """The most of them there were."""


class Kernel(Struct, frozen=True):
    """Device events of one name and kind: a kernel, copy or set."""

    id: int
    name: str
    kind: str
    """Kind of device work."""
    event: str
    """The request to the device: "kernel", "copy" or "set"."""
    count: Count
    """Device events."""
    graph_count: Count
    """Those of a graph: launched by a `*GraphLaunch` call, or with a `graph id`."""
    total_us: Us
    """Sum of their durations."""
    mean_us: Us
    """Mean of their durations."""
    min_us: Us
    """The shortest of them."""
    max_us: Us
    """The longest of them."""
    by_phase: TimeByPhase
    """`total_us` by the phase of the launch. Work without a launch in the trace is in none."""
    tensor_core: bool | None
    """Whether it ran on tensor (matrix) cores, by its name; null where unknown. Only `matrix`,
    `convolution` and `attention` can."""
    blocks_per_sm: MeanCount | None
    """Mean of `blocks per SM`, weighted by duration; events without it do not count. Null where it
    is not in the trace (AMD, torch's second exporter)."""
    occupancy_pct: Percent | None
    """Mean of `est. achieved occupancy %`, weighted by duration; events without it do not count.
    Null where it is not in the trace (AMD, torch's second exporter), or the profiler does not know
    it: it writes 0, although each multiprocessor has a warp."""


class KernelsOmitted(Struct, frozen=True):
    """Sum of the rows left out of the kernel table: the cheapest names."""

    names: Count
    """Names left out."""
    count: Count
    """Device events of these names."""
    total_us: Us
    """Sum of their durations."""
