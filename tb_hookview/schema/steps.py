"""Rows about steps, and sums over all of them."""

from __future__ import annotations

from msgspec import Struct

from tb_hookview.schema.units import Count, TimeByKind, Us


class Idle(Struct, frozen=True):
    """Idle time of the devices by cause. The parts sum to `device_idle_us`, to the nanosecond.

    A moment of idle time has the first of these causes that holds.
    """

    sync: Us
    """The host was in a sync, or after one, as in `syncs[].device_idle_us`. After a sync only where
    none of `data_loading`, `copy`, `allocator` and `profiler` holds. The sum over syncs equals the
    sum over steps, but for syncs before, after or across steps: the part is counted where the idle
    time lies, the sync where it began."""
    data_loading: Us
    """The host was inside a `DataLoader` annotation."""
    copy: Us
    """A thread that launches work was inside a synchronous copy, or one of memory that is not
    pinned, while the device had nothing to do (its copy had not begun)."""
    allocator: Us
    """A thread that launches work was inside a call that allocates or frees memory."""
    kernel_loading: Us
    """A thread that launches work was loading the code of a kernel: in a call that loads modules,
    or in the first launch of that kernel in the trace, if it took over 20 times the median of the
    call's name until the kernel began, and the host did not wait, copy or allocate in it; or the
    driver recorded such overhead."""
    launch: Us
    """The next work was launched too late: its launch began after the gap did (less the launch
    latency), or the launching call of a kernel was still open then. The host had other things to
    do. The time ends with the launching call, or one launch latency after it began if that is
    later; a start up to one more latency later is part of it. Before the launch of a device's first
    work the launching thread was in anything recorded, and the device then started that work at
    once."""
    communication: Us
    """The host was inside a collective of gloo, MPI or UCC, or a barrier; or the next work had been
    launched in time and it or the work before was a collective's."""
    profiler: Us
    """The profiler recorded overhead of its own, or was inside its own sync. `overhead` rows of the
    driver (loading of modules, a full command buffer) are not the profiler's."""
    device: Us
    """The next work had been launched by then, or before the trace began: the device idled although
    work was queued, or for something the trace does not show."""
    unknown: Us
    """Before the launch of a device's first work, where `launch` does not hold, and between that
    launch and a late start of this work, as it is not in the trace what the device did before;
    after its last work; before work whose launch is not in the trace."""


class Step(Struct, frozen=True):
    """One step of the training loop; the five host phases sum to its duration."""

    id: int
    name: str
    start_us: Us
    """Start of the step, on the trace's own clock."""
    duration_us: Us
    """Length of the host row `ProfilerStep#N`. A trace without any is one step."""
    forward_us: Us
    """Time in no other phase but `other` and inside a module's call (annotations do not count), or
    inside an operator that made an autograd node or holds one that did."""
    backward_us: Us
    """Time in which any thread evaluated an autograd node."""
    optimizer_us: Us
    """Time in no backward in which parameters were updated: gradient scaling and clipping (our
    recorder's `call` marks), `step`, `zero_grad` (torch's `Optimizer.*` annotations). To multiply
    the loss by the scale is part of the forward, whose graph it adds to."""
    data_us: Us
    """Time in neither of these inside `DataLoader` annotations."""
    other_us: Us
    """The rest of the step."""
    device_busy_us: Us | None
    """Length of the union of a device's work, clipped to the step on the host and summed over the
    devices that did any work."""
    device_idle_us: Us | None
    """The step's duration times these devices, less `device_busy_us`."""
    sync_blocked_us: Us
    """Time in which some host thread waited for a device."""
    idle: Idle | None
    """`device_idle_us` by its cause."""
    queue_full_us: Us | None
    """Time in which a launch waited for room in a device's full queue: the call lasted over 20
    times the median of its name while at least 900 launches had not begun. The device limits the
    step then, not the host: it is in no `sync_*`. Null without launches."""
    backward_idle_us: Us | None
    """The part of `device_idle_us` during which some thread evaluated a node: a device may still be
    busy with the forward then, or go on with the backward later."""
    counts: bool
    """Whether the means in findings count it: every selected step; of a whole trace all but the
    first, which warms up, and those that launched nothing. The one step of a trace of a device
    alone counts if the device did anything."""


class Totals(Struct, frozen=True):
    """Sums over all selected steps."""

    device_busy_us: dict[str, Us]
    """By device: time in which it did any work."""
    backward_device_us: Us | None
    """Device time of work launched in the backward phase. Null, as the next two, where the trace
    has no launches or no operators to know phases by."""
    forward_device_us: Us | None
    """Device time of work launched in the forward phase."""
    optimizer_device_us: Us | None
    """Device time of work launched in the optimizer phase."""
    sync_count: Count
    """Syncs, the profiler's own included."""
    sync_blocked_us: Us
    """Sum of their durations."""
    backward_sync_count: Count
    """Syncs in the backward phase."""
    device_wait_count: Count
    """Calls that make a stream wait for an event (`cudaStreamWaitEvent` and its like): the device
    waits, the host goes on, and they are in no `sync_*`."""
    queue_full_count: Count | None
    """Launches that waited for room in a device's full queue."""
    queue_full_us: Us | None
    """Sum of their durations."""
    device_us_by_kind: TimeByKind = {}
    """Time of all device work of every phase by kind; kinds without any are left out."""
    communication_device_us: Us | None = None
    """The part of it that is communication; null, as the next two, without device work."""
    tensor_core_us: Us | None = None
    """The part of it that is known to have run on tensor cores."""
    tensor_core_unknown_us: Us | None = None
    """The part of it that may have run on tensor cores: unknown from names."""


class Breakdown(Struct, frozen=True):
    """One step with its device work, by torch_tb_profiler's categories, which sum to it."""

    id: int
    """As `step_id`."""
    step: str
    step_id: int
    start_us: Us
    """Start of the step, but no earlier than the end of the one before."""
    duration_us: Us
    """Until the end of the step, or of the last device work launched in it."""
    kernel_us: Us
    """Kernels that are not a collective's."""
    copy_us: Us
    """Copies."""
    set_us: Us
    """Sets."""
    communication_us: Us
    """Kernels of collectives, and the `nccl:`, `gloo:`, ... rows of the host."""
    runtime_us: Us
    """Calls of the device's runtime or driver."""
    data_us: Us
    """`DataLoader` annotations."""
    host_us: Us
    """Operators and annotations."""
    other_us: Us
    """The rest: Python between operators, or nothing."""
