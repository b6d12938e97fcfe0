"""Rows about the host: operators, threads, syncs (of a recording, of a dry run), allocations."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from tb_hookview.schema.terms import (
    Bytes,
    Count,
    Flop,
    FlopPerByte,
    Share,
    TflopPerS,
    TimeByPhase,
    Us,
)

PROFILER = "profiler"
"""Cause of a sync that is the profiler's own, which no rule explains; its time on the host."""


class Operator(Struct, frozen=True):
    """All calls of operators or annotations of one name, counted as `key_averages()` does."""

    id: int
    name: str
    calls: Count
    """Rows of that name. A row whose only row inside has its own name is one call with it."""
    host_us: Us
    """Sum of their durations, over threads: calls that run at once may add up to more than the
    clock shows. A call inside another one of the same row adds nothing to this and the other
    totals, where `key_averages()` counts it for each level."""
    self_host_us: Us
    """Less the operators, annotations and calls of the device's runtime inside. Marks and Python
    frames inside are not subtracted."""
    device_us: Us | None
    """Device work launched inside. Null, as those below, without launches, and where a call
    launched into the capture of a graph: that work runs where graphs are replayed."""
    self_device_us: Us | None
    """The part of it that no operator or annotation further in launched."""
    tensor_core_eligible: bool
    """Whether tensor cores could serve it: it is in the list of `kinds.py`, it launched a
    kernel on them, or an operator inside is eligible."""
    tensor_core_us: Us | None
    """The part of `device_us` on tensor cores, by the kernels' names."""
    self_tensor_core_us: Us | None
    """The part of `self_device_us` on tensor cores."""
    flops: Flop | None
    """FLOPs by the shapes of the inputs, of the calls with a formula (matrix products,
    convolutions, attention), or of such calls inside; each once. Calls do not count of whose device
    events, or their launches, the trace lacks some. Null where no shapes are in the trace, or no
    formula fits."""
    flops_us: Us | None
    """Device time of these calls; in a trace of a CPU their host time. Null where a device ran them
    that was not recorded."""
    tflop_per_s: TflopPerS | None
    """FLOPs over the time of these calls, `flops_us`."""
    peak_share: Share | None
    """Time that these FLOPs take at the peak of the device for their types, over `flops_us`. Null
    where the peak is not in `peaks.json`."""
    flop_per_byte: FlopPerByte | None
    """FLOPs over the bytes of inputs and results, each counted once: the most the intensity can
    be, as kernels may move them again."""


class Thread(Struct, frozen=True):
    """A thread of the host, and what it did."""

    id: int
    thread: str
    """Its name, or its number where it has none; as `syncs[].thread`."""
    process: str
    """Number of its process."""
    role: str
    """Of the whole trace, the first of these that holds: `forward` (steps are marked on it, or
    forward work ran on it outside of nodes: the loop's own thread), `backward` (it evaluated
    nodes), `data` (a `DataLoader` annotation, or a thread that torch names as one of its loader's),
    `other`."""
    busy_us: Us
    """Time in which any operator, annotation (no step's), call of a module (also by its Python
    frame) or of the device's runtime was open on it; of a selection of steps, clipped to them.
    Other Python is not in it: the frame of a thread's loop is open all the time."""
    by_phase: TimeByPhase
    """`busy_us` by phase, as in `steps[]` but of this thread alone; sums to it. Time of a phase
    that is unknown there is in `other`."""
    blocked_us: Us | None
    """The part of it in which the thread was in a sync, the profiler's own left out. Null as
    `totals.sync_count`."""


class Allocation(Struct, frozen=True):
    """Calls of one name that allocate or free memory of a device, or pin memory."""

    id: int
    api: str
    count: Count
    """Calls; one inside another is part of it."""
    blocked_us: Us
    """Time in these calls."""
    device_idle_us: Us | None
    """The `allocator` idle time during them."""
    waited_us: Us = 0.0
    """The part of `blocked_us` in which calls that free memory waited for the device. These are
    syncs, and the part is in `sync_blocked_us`."""


class WaitedFor(Struct, frozen=True):
    """The device event that took the longer part of a sync."""

    event_id: int
    name: str
    device: str
    device_id: str
    stream: str
    stream_id: int
    duration_us: Us
    """Duration of the device event."""


class Sync(Struct, frozen=True):
    """One sync: the host waited for a device."""

    id: int
    event_id: int
    """The call that held the longest part of the wait."""
    api: str
    """Name of the call that held the longer part."""
    start_us: Us
    """Start of the first call. Of a wait whose own call is not in the trace, before
    `cudaEventElapsedTime`: end of the thread's row before."""
    duration_us: Us
    """To the end of the last call; of a wait whose own call is not in the trace, to the start of
    `api`; of one that frees memory, to the end of what it waited for."""
    step: str | None
    step_id: int | None
    phase: str
    """ "forward", "backward", "optimizer", "data" or "other"."""
    operator: str | None
    operator_id: int | None
    """Event of the call of the operator."""
    node: str | None
    node_id: int | None
    """Event of the node's evaluation."""
    module: str | None
    module_id: int | None
    cause: str
    """Id of the first rule, in their order of priority, that explains the sync; `profiler` for the
    profiler's own call as it starts or stops. `sync-explicit` is where no operator asked for it,
    `sync-in-operator` where one did and no other rule fits."""
    device_idle_us: Us | None
    """Device idle time that the sync caused, summed over the devices. With [s, e] the sync, g1 the
    device's first work whose launch began at or after e, and g0 the end of the device's work before
    g1: the time from max(s, g0) to g1, less the launch latency, and no more than the sync was long
    (without it the host could be no further ahead). In a report of some steps: what of it lies in
    these."""
    gap_ids: list[int]
    """Idle gaps that the sync caused, rows of the table `gaps`; their durations sum to
    `device_idle_us`."""
    stack: list[str]
    """Python frames around the call, innermost first; in the backward pass those around the forward
    operator. Empty where the trace holds none."""
    thread: str
    thread_id: int
    waited_for: WaitedFor | None
    """Of a copy that waits, or a launch that waits for what it launched: the work before it on its
    stream, or that copy or work itself, whichever took the longer part. Of any other: the work
    launched before that ended last before the sync returned. Null where none ended within the
    sync."""
    waited_us: Us | None = 0.0
    """The part of `duration_us` until the work that was launched before had ended. Null where no
    device events were recorded."""
    transfer_us: Us | None = 0.0
    """The part of the rest in which the sync's own copy ran, also after its call had returned, or
    what a launch that waits for it launched. What is left is calling, staging, returning: the
    host's own. Null where no device events were recorded."""


def own_syncs(syncs: Iterable[Sync]) -> list[Sync]:
    """Return the program's syncs: all but the profiler's own."""
    return [sync for sync in syncs if sync.cause != PROFILER]


class DrySync(Struct, frozen=True, kw_only=True):
    """A place where the host would wait for the device in one step, and how often."""

    id: int
    step: int
    """Number of the step, from 0; the first one holds what precedes it too."""
    phase: str
    """ "forward", "backward", "optimizer" or "other"."""
    operator: str
    """The operator that holds the sync, as a recording names it; of an explicit one the call of
    the CUDA runtime."""
    within: str | None
    """The operator around it, where that is known."""
    node: str | None
    """Autograd node of the backward pass."""
    module: str | None
    """Path below the root of the model; in the backward pass that of the forward that made the
    node. Null where there is no module."""
    module_class: str | None
    line: str | None
    """ "file.py:12", the program's innermost line; null where no frame is the program's."""
    file: str | None
    """The file in full."""
    last_line: int | None
    """Last line of the expression; with both columns null before Python 3.11."""
    column: int | None
    """First column of the expression, from 0, in bytes."""
    last_column: int | None
    code: str
    """The whole statement, in one line; "" where the source is unknown."""
    via: str | None
    """The line of torch's Python code in which it is."""
    forward_line: str | None
    """In the backward pass the line of the forward operator that made the node."""
    forward_code: str | None
    stack: list[str]
    """The program's frames, innermost first: "file.py(line): function"."""
    cause: str
    """Id of the rule of the trace's findings that such a sync belongs to."""
    title: str
    """The rule's title."""
    fix: str
    """The rule's fix."""
    reason: str
    """What the host waits for."""
    nbytes: Bytes | None
    """Bytes that are copied, each time; null where nothing is."""
    certain: bool
    """False where the driver decides whether the host waits."""
    count: Count
    """Times in this step that torch's own code waits; one for each call of an operator in which
    only a library does, however often."""
    allowed: str | None
    """The reason why it may be there, from the list of those allowed; null elsewhere."""


class DryRunReport(Struct, frozen=True, kw_only=True):
    """A dry run: no GPU, so no times."""

    schema: int = 1
    kind: str = "dry-run"
    program: str
    """The script; "" where the program called `dry_run` itself."""
    torch_version: str
    python_version: str
    devices: Count
    """CUDA devices that were there for the program."""
    steps: Count
    """Steps that were completed."""
    measured: list[int]
    """Steps that limits are about: without the first, which holds the preparation, if there are
    others."""
    sync_count: Count
    """Syncs of the measured steps: certain, and not allowed."""
    most_per_step: Count
    """The most of those in one step."""
    syncs: list[DrySync]
    notes: list[str]
    """What this run did otherwise than a GPU would."""
    unknown: list[str]
    """What no dry run can know."""
    unused_allowances: list[str]
    """Entries of the list of those allowed that matched nothing."""
