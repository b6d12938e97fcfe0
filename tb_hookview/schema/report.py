"""The report as it is sent and stored: one typed row per table of the public contract.

Times are microseconds (float) on the trace's own clock, sizes bytes. A number that the trace does
not hold is None. Definitions of every number, with unit and source, are in docs/definitions.md.

Every row has an `id`, unique in its table. It is a fact of the trace: whatever steps a report is
about, the same row has the same id.

- One event of the trace has its row in the trace, which is its id in the timeline too (`event_id`).
- What the analysis numbers has its index there: steps, modules, syncs, gaps, threads, streams.
- What sums events of one name up has the least id of these events: kernels, nodes, operators,
  allocations.
- Devices have their name in the trace ("0"), findings `rule:where`.

`NAME_id` refers to a row of another table, None for no row.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import msgspec

from tb_hookview.schema.findings import Finding
from tb_hookview.schema.terms import KINDS, Phase

SCHEMA_VERSION = 1
OPERATORS = 1000
"""Most rows of the table of operators: somebody may put a number into an annotation's name."""
PROFILER = "profiler"
"""Cause of a wait that is the profiler's own; no rule explains it."""

TimeByKind = Annotated[dict[str, float], msgspec.Meta(extra={"keys": KINDS})]
"""Microseconds by kind of device work; kinds without any are left out."""
TimeByPhase = Annotated[
    dict[str, float], msgspec.Meta(extra={"keys": [phase.name.lower() for phase in Phase]})
]
"""Microseconds by phase; phases without any are left out."""


class Device(msgspec.Struct, frozen=True):
    """A device that did any work."""

    id: str
    """Device index as the trace numbers it, as text ("0")."""
    name: str
    kind: str
    """ "cuda", "hip", "ze" or "ur" (XPU); "device" where the runtime cannot be told."""


class TraceWarning(msgspec.Struct, frozen=True):
    """Something about the trace the reader of the report should know."""

    code: str
    message: str
    count: int


class TraceInfo(msgspec.Struct, frozen=True):
    """The file, and what it was recorded on."""

    path: str
    format: str
    """ "chrome-object" or "chrome-list": what the root of the file is."""
    events: int
    start_us: float
    duration_us: float
    devices: list[Device]
    rank: int | None
    world_size: int | None
    torch_version: str | None
    recorder: dict[str, Any] | None
    """What the recorder says of itself (version, markers), None where it left no manifest."""
    warnings: list[TraceWarning]


class Totals(msgspec.Struct, frozen=True):
    """Sums over the whole selection."""

    device_busy_us: dict[str, float]
    backward_device_us: float | None
    forward_device_us: float | None
    optimizer_device_us: float | None
    sync_count: int
    sync_blocked_us: float
    backward_sync_count: int
    device_wait_count: int
    """Calls that make a stream wait for an event (`cudaStreamWaitEvent`); the host goes on."""
    queue_full_count: int | None
    """Launches that waited for room in a device's full queue; no waits for a result."""
    queue_full_us: float | None
    device_us_by_kind: TimeByKind = {}
    """All device work by kind (`kinds.KINDS`); kinds without any are left out."""
    communication_device_us: float | None = None
    tensor_core_us: float | None = None
    """Device work known to have run on tensor cores; None where the trace holds no work."""
    tensor_core_unknown_us: float | None = None
    """Device work that may have: its name does not tell."""


class Idle(msgspec.Struct, frozen=True):
    """Idle time of the devices by what caused it, microseconds; the parts sum to the whole."""

    sync: float
    """The host waited for the device, and so launched nothing behind what it waited for."""
    data_loading: float
    copy: float
    """The host was inside a copy of unpinned memory that was no wait."""
    allocator: float
    launch: float
    """The host launched the next work too late, and none of the others is why."""
    communication: float
    profiler: float
    device: float
    """The next work had been launched in time: the device's own pause between two pieces."""
    unknown: float


class Step(msgspec.Struct, frozen=True):
    """One step of the training loop; the five host phases sum to its duration."""

    id: int
    name: str
    start_us: float
    duration_us: float
    forward_us: float
    backward_us: float
    optimizer_us: float
    data_us: float
    other_us: float
    device_busy_us: float | None
    device_idle_us: float | None
    sync_blocked_us: float
    idle: Idle | None
    """`device_idle_us` by its cause."""
    queue_full_us: float | None
    """Time in which a launch waited for room in a device's full queue."""
    backward_idle_us: float | None = None
    """The part of `device_idle_us` during which the host was in the backward pass."""


class Work(msgspec.Struct, frozen=True):
    """Work of one direction (forward, backward, recompute) of one module."""

    host_us: float | None
    device_us: float | None
    self_host_us: float | None
    self_device_us: float | None
    kernels: int | None
    by_kind: TimeByKind | None = None
    """`device_us` by kind of work (`kinds.KINDS`), summing to it; kinds without any left out."""
    tensor_core_us: float | None = None
    """The part of `device_us` known to have run on tensor cores."""


class ModuleSync(msgspec.Struct, frozen=True):
    """Waits of the host inside a module or the modules below it."""

    count: int
    blocked_us: float
    device_idle_us: float | None


class InputShapes(msgspec.Struct, frozen=True):
    """What calls of a module were given, as far as their first operator shows it."""

    operator: str
    dims: list[Any]
    """Shapes of the operator's inputs, as the trace writes them: `[]` for what is no tensor."""
    calls: int


class Module(msgspec.Struct, frozen=True, rename={"module_class": "class"}):
    """One module instance."""

    id: int
    path: str
    module_class: str
    parent: str | None
    """Path of the module above; None for a root."""
    parent_id: int | None
    depth: int
    """Modules above it; 0 for a root."""
    calls: int
    forward: Work
    backward: Work
    recompute: Work | None
    sync: ModuleSync
    backward_ratio: float | None = None
    """Backward time without communication divided by forward time, on the device where the trace
    has one."""
    occupancy_pct: float | None = None
    """Occupancy of the kernels of the module and those below, weighted by their duration."""
    shapes: list[InputShapes] = []
    """The most frequent three; empty where the trace was recorded without shapes."""
    source: str | None = None
    """`file.py:line` where the class, or else its `forward`, is defined."""


class Node(msgspec.Struct, frozen=True):
    """All autograd nodes of one name."""

    id: int
    name: str
    count: int
    host_us: float
    device_us: float | None


class Operator(msgspec.Struct, frozen=True):
    """All calls of operators or annotations of one name, counted as `key_averages()` does."""

    id: int
    name: str
    calls: int
    host_us: float
    self_host_us: float
    """Less the operators, annotations and calls of the device's runtime inside."""
    device_us: float | None
    self_device_us: float | None


class DeviceUse(msgspec.Struct, frozen=True):
    """What one device did with its time, from its first selected work to its last."""

    id: str
    """As `device`."""
    device: str
    span_us: float
    busy_us: float
    """Any work."""
    compute_us: float
    """Any kernel that is no collective's."""
    communication_us: float
    """Any kernel that is a collective's."""
    overlapped_us: float
    """Both of them."""
    kernel_us: float
    """Sum of the kernels' durations; the next two are parts of it."""
    tensor_core_us: float
    """Kernels that ran on tensor cores by their names."""
    tensor_core_eligible_us: float
    """Kernels launched by operators that tensor cores could serve."""
    utilization: float | None
    """Share of the selected steps, with the device work they launched, in which a kernel ran."""
    sm_efficiency: float | None
    """Mean over the same time of the blocks on each multiprocessor, of which one counts."""
    occupancy_pct: float | None
    """Mean of the kernels' estimated occupancy by their time."""


class Stream(msgspec.Struct, frozen=True):
    """One stream of a device: its work, the pauses between, and its queue of launched work."""

    id: int
    device: str
    device_id: str
    stream: str
    count: int
    busy_us: float
    host_us: float | None
    """Pauses that the host made by launching late; null, as all below, without any launch."""
    kernel_us: float | None
    """Short pauses before work that was launched in time."""
    other_us: float | None
    queue_mean: float | None
    """Pieces of work launched and not begun, mean over time."""
    queue_max: int | None


class Breakdown(msgspec.Struct, frozen=True):
    """One step with its device work, by torch_tb_profiler's categories, which sum to it."""

    id: int
    """As `step_id`."""
    step: str
    step_id: int
    start_us: float
    duration_us: float
    kernel_us: float
    copy_us: float
    set_us: float
    communication_us: float
    runtime_us: float
    data_us: float
    host_us: float
    """Operators and annotations, while none of the above."""
    other_us: float


class WaitedFor(msgspec.Struct, frozen=True):
    """The device work that took the longer part of a wait."""

    event_id: int
    name: str
    device: str
    device_id: str
    stream: str
    stream_id: int
    duration_us: float


class Kernel(msgspec.Struct, frozen=True):
    """All device work of one name and kind: a kernel, a way to copy, or a set."""

    id: int
    name: str
    kind: str
    """One of `kinds.KINDS`."""
    event: str
    """ "kernel", "copy" or "set": what the device was asked for."""
    count: int
    graph_count: int
    """How many of these were launched as a part of a device graph."""
    total_us: float
    mean_us: float
    max_us: float
    by_phase: TimeByPhase
    """`total_us` by the phase of the launch; what has no launch in the trace is left out."""
    tensor_core: bool | None
    blocks_per_sm: float | None
    """Weighted by duration, as is the occupancy; None where the trace does not hold it."""
    occupancy_pct: float | None


class KernelsOmitted(msgspec.Struct, frozen=True):
    """What the kernel table leaves out: the cheapest names beyond its length."""

    names: int
    count: int
    total_us: float


class Sync(msgspec.Struct, frozen=True):
    """One wait of the host for the device."""

    id: int
    event_id: int
    """The call that held the longest part of the wait."""
    api: str
    start_us: float
    duration_us: float
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
    """Id of the rule that explains it, or PROFILER."""
    device_idle_us: float | None
    stack: list[str]
    """Python frames, innermost first; empty where the trace holds none."""
    thread: str
    thread_id: int
    waited_for: WaitedFor | None
    """None where no work ended during the wait: there was nothing to wait for."""


def own_syncs(syncs: Iterable[Sync]) -> list[Sync]:
    """Return the program's syncs: all but the profiler's own."""
    return [sync for sync in syncs if sync.cause != PROFILER]


class Thread(msgspec.Struct, frozen=True):
    """A thread of the host, and what it did."""

    id: int
    thread: str
    """Its name, or its number where it has none; as `Sync.thread`."""
    process: str
    role: str
    """ "forward", "backward", "data" or "other"."""
    busy_us: float
    """Time in which an operator, an annotation or a call of the device's runtime was open."""
    by_phase: TimeByPhase
    """`busy_us` by phase, summing to it."""
    blocked_us: float
    """Time in which it waited for a device."""


class Allocation(msgspec.Struct, frozen=True):
    """All calls of one name that take or give back memory of a device, or pin memory."""

    id: int
    api: str
    count: int
    blocked_us: float
    """Time in these calls; they are no waits, and not in `sync_blocked_us`."""
    device_idle_us: float | None
    """Device idle time during them."""


class Coverage(msgspec.Struct, frozen=True):
    """How much of the backward pass could be attributed, and by what."""

    backward_device_us: float | None
    unattributed_us: float | None
    backward_host_us: float
    unattributed_host_us: float
    by_evidence: dict[str, float]
    """Attributed backward time by the evidence used: device time where the trace has any in the
    backward pass, host time otherwise; `measure` says which."""
    measure: str
    """ "device" or "host"."""
    by_evidence_host: dict[str, float]
    unattributed_by_reason: dict[str, float]
    """Unattributed backward time by reason, in `measure`."""
    communication_device_us: float | None = None
    """The part of `backward_device_us` that is communication."""
    unattributed_communication_us: float | None = None
    """The part of `unattributed_us` that is communication."""


class Marks(msgspec.Struct, frozen=True):
    """Marks of the recorder by kind, as counted in the trace."""

    forward: int
    gradient: int
    backward: int
    """Marks before and after a module's backward, each counted."""
    function: int
    """Calls that scale or clip gradients."""


class Recorder(msgspec.Struct, frozen=True):
    """What the recorder left in the selected steps, and what that cost."""

    version: int | None
    """Of the marks' format; the latest where a trace holds several."""
    markers: list[str]
    """The options that modules were wrapped with; empty where the trace does not tell."""
    marks: Marks
    own_host_us: float | None
    """Estimated host time of these marks; None where their cost was not measured."""
    own_share: float | None
    """The same as a share of the steps' duration."""


class ReportData(msgspec.Struct, frozen=True):
    """The whole report; `tb_hookview.analysis.Report` wraps it with tables and conversions."""

    schema: int
    trace: TraceInfo
    totals: Totals
    steps: list[Step]
    modules: list[Module]
    """Parents before children, each root's tree in `named_modules()` order."""
    nodes: list[Node]
    syncs: list[Sync]
    allocations: list[Allocation]
    """By name, dearest first."""
    coverage: Coverage
    findings: list[Finding]
    recorder: Recorder | None = None
    """None where the trace holds no marks."""
    kernels: list[Kernel] = []
    """Device work by name, dearest first."""
    kernels_omitted: KernelsOmitted | None = None
    """None where the table is whole."""
    operators: list[Operator] = []
    """By name, dearest first; no more than OPERATORS of them."""
    breakdown: list[Breakdown] = []
    """Steps whose device work is in the trace, in order."""
    devices: list[DeviceUse] = []
    streams: list[Stream] = []
    threads: list[Thread] = []
    """Threads of the host, busiest first."""
