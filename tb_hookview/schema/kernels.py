"""Rows of the tables of kernels, of what devices reach, and of their peaks."""

from __future__ import annotations

from msgspec import Struct

from tb_hookview.schema.terms import (
    Bytes,
    Count,
    Flop,
    FlopPerByte,
    GbPerS,
    MeanCount,
    Percent,
    Share,
    TflopPerS,
    TimeByPhase,
    Us,
)


class DevicePeak(Struct, frozen=True):
    """Peak of a device for one type of operands, by its vendor's data sheet.

    Written down from the sheets; which figures a second public source has too is in `confirmed`.
    """

    id: int
    device_id: str
    name: str
    """The device as the data sheet names it."""
    dtype: str
    """Type of the operands, "float32_tensor" for float32 on tensor or matrix cores (NVIDIA: TF32).
    Other types of 16 bits and fewer are on them."""
    tflop_per_s: TflopPerS
    """Dense, that is without sparsity."""
    gb_per_s: GbPerS
    """Bandwidth of the device's memory."""
    source: str
    """Data sheet."""
    confirmed: str | None
    """Figures that another public source has too, and which source; null where none was found:
    unverified."""


class Utilization(Struct, frozen=True):
    """FLOPs of a part of the trace, and what share of the device's peak they are."""

    device_us: Us | None
    """Sum of the durations of its device events."""
    flops: Flop | None
    """FLOPs by the shapes of the inputs, recomputed ones included; null where none is known."""
    recomputed_flops: Flop | None
    """The part of them in forward work that ran again in the backward pass."""
    flops_us: Us | None
    """Device time of the calls of known FLOPs; in a trace of a CPU their host time. Null where a
    device ran them that was not recorded."""
    unknown_us: Us | None
    """Device time of products, convolutions and attention whose FLOPs are not known: above 0,
    `mfu` is a lower bound."""
    tflop_per_s: TflopPerS | None
    """`flops` over `flops_us`."""
    peak_share: Share | None
    """Time that `flops` take at the device's peak for their types, over `flops_us`. Null, as `mfu`,
    where that is above 1: the trace lacks kernels of a call that is cut off."""
    flop_per_byte: FlopPerByte | None
    """As in `Operator`."""
    mfu: Share | None
    """Model FLOPs utilization: time that the FLOPs without recomputed ones take at the peak, over
    the whole time (of a step its duration, times the devices that worked in it, or `device_us`
    where that is longer, as where the host runs ahead; of a module `device_us`). Chowdhery et al.
    2022 (PaLM), appendix B. Null where a peak is unknown, or the FLOPs of more time than they are
    known of (`unknown_us` above `flops_us`)."""


class StepUtilization(Utilization, frozen=True):
    """FLOPs and utilization of a step."""

    id: int
    step: str
    duration_us: Us
    """Length of the step."""


class ModuleUtilization(Utilization, frozen=True):
    """FLOPs and utilization of a module, the modules below it included, over all phases."""

    id: int
    path: str
    module_class: str


class KernelByLaunch(Struct, frozen=True):
    """Kernels of one name, launched by operators of one name with the same configuration.

    Copies and sets are rows too.
    """

    id: int
    name: str
    kind: str
    """Kind of device work."""
    event: str
    """The request to the device: "kernel", "copy" or "set"."""
    operator: str | None
    """Innermost operator or annotation around the launch."""
    grid: str | None
    """Blocks in each dimension."""
    block: str | None
    """Threads of a block in each dimension."""
    registers: Count | None
    """Registers of each thread."""
    shared_memory: Bytes | None
    """Shared memory of each block."""
    count: Count
    """Device events."""
    total_us: Us
    """Sum of their durations."""
    mean_us: Us
    """Mean of their durations."""
    min_us: Us
    """The shortest of them."""
    max_us: Us
    """The longest of them."""
    tensor_core: bool | None
    """Whether it ran on tensor (matrix) cores, by its name; null where unknown."""
    operator_eligible: bool
    """Whether tensor cores could serve the operator, as `Operator.tensor_core_eligible`."""
    blocks_per_sm: MeanCount | None
    """As in `Kernel`."""
    occupancy_pct: Percent | None
    """As in `Kernel`."""
    module: str | None
    """Module with the most of its time."""
    module_id: int | None
    modules: Count
    """Modules that launched it."""
    phase: str | None
    """Phase of the launch with the most of its time."""
    flops: Flop | None
    """FLOPs of the calls that launched it, shared among their kernels by duration."""
    tflop_per_s: TflopPerS | None
    """`flops` over the time of the kernels that have any."""
    peak_share: Share | None
    """As in `Operator`, over the same time."""
    flop_per_byte: FlopPerByte | None
    """As in `Operator`."""


class KernelSequence(Struct, frozen=True):
    """Kernels of the same names in the same order, in a row on one stream, twice or more.

    Of kernels that work element by element, reduce, copy or fill, in one step and phase. A run of
    up to 16 is one sequence; a longer one counts as what repeats directly in it, and what is
    between. Each kernel is in one occurrence of one sequence at most. That a kernel reads what the
    one before it wrote is not known. Those that torch.compile made are left out, and changes of
    the layout within a library's call.
    """

    id: int
    """Event of the first kernel of its first occurrence."""
    name: str
    """Names of its kernels in order, one on each line; after the sixteenth how many more."""
    kernels: Count
    """Kernels of one occurrence."""
    count: Count
    """Occurrences."""
    total_us: Us
    """Sum of the durations of all its kernels."""
    removable_us: Us
    """`total_us` without the longest kernel of each occurrence."""
    gain_us_per_step: Us | None
    """How much shorter a step is at most if one kernel, as long as the longest, does the work of
    each occurrence: by a replay in which the others take no time, nor what launches only them. A
    bound, not a promise. Known of the ten sequences with the most time and the ten with the most
    kernels to remove; null for the others, and where nothing is replayed."""
    module: str | None
    """Module with the most of its time."""
    module_id: int | None
    modules: Count
    """Modules that launched it."""
    phase: str
    """ "forward", "backward", "optimizer", "data" or "other"; of its first occurrence."""
    start_us: Us
    """Start of its first occurrence, on the trace's own clock."""
    span_us: Us
    """From there to the end of this occurrence's last kernel."""


# Rows about devices, their streams and their kernels.


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
    """Time in which any kernel ran that is not a collective's. That of a rank (`hookview ranks`) is
    a mean per step, and has copies and sets too."""
    communication_us: Us
    """Time in which any kernel of a collective ran."""
    overlapped_us: Us
    """Time in which both ran."""
    kernel_us: Us
    """Sum of the kernels' durations."""
    tensor_core_us: Us
    """The part of it on tensor cores, by the kernels' names."""
    tensor_core_eligible_us: Us | None
    """The part of it launched by an operator that tensor cores could serve (the list is in
    `kinds.py`) and that holds no other such operator, and all of `tensor_core_us`. Where the trace
    lacks the operator of a kernel (a replayed graph, a launch before the recording), it is eligible
    only if it ran on them. Null where the trace has no launches by operators."""
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

    A gap is the time from the end of all earlier events to the next start. Another stream may work
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
    """`total_us` by the phase of the launch, an unknown phase's in `other`. Work without a launch
    in the trace is in none."""
    tensor_core: bool | None
    """Whether it ran on tensor (matrix) cores, by its name; null where unknown. Only `matrix`,
    `convolution` and `attention` can."""
    blocks_per_sm: MeanCount | None
    """Mean of `blocks per SM`, weighted by duration; events without it do not count. Null where it
    is not in the trace (AMD, torch's second exporter), or in that of less than half of the time."""
    occupancy_pct: Percent | None
    """Mean of `est. achieved occupancy %`, weighted by duration; events without it do not count.
    Null where it is not in the trace (AMD, torch's second exporter), or the profiler does not know
    it (it writes 0, although each multiprocessor has a warp) for more than half of the time."""


class KernelsOmitted(Struct, frozen=True):
    """Sum of the rows left out of the kernel table: the cheapest names."""

    names: Count
    """Names left out."""
    count: Count
    """Device events of these names."""
    total_us: Us
    """Sum of their durations."""
