"""Rows of the tables at event level, and a page of a table."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from tb_hookview.schema.host import Operator
from tb_hookview.schema.terms import UNIT, Bytes, Count, Flop, Percent, TflopPerS, Us


class ReportRows(Struct, frozen=True):
    """Some rows of a table of the report, in its form, where the report leaves some out."""

    table: str
    offset: Count
    """Rows before these."""
    total: Count
    """Rows of the table."""
    rows: list[Any]
    """As many as a megabyte holds."""


Ns = Annotated[int, Meta(extra_json_schema={UNIT: "ns"})]
"""Nanoseconds."""


class Event(Struct, frozen=True):
    """A row of the trace in file order, with what the analysis found about it."""

    id: int
    name: str
    kind: str
    """Category: "operator", "annotation", "python", "runtime", "kernel", "copy", "set", ..."""
    start_ns: Ns
    """Whole nanoseconds: an absolute time in microseconds is more than a float can hold."""
    duration_ns: Ns
    """Whole nanoseconds, as the file has them."""
    pid: str
    tid: str
    thread: str | None
    """Name of the thread."""
    thread_id: int
    correlation: int | None
    sequence: int | None
    forward_thread: int | None
    external_id: int | None
    device: int | None
    step: str | None
    step_id: int | None
    phase: str | None
    module: str | None
    """Path of the module that the row belongs to."""
    module_id: int | None
    node: str | None
    """Autograd node that the row is, lies in, or was launched in."""
    node_id: int | None
    evidence: str | None
    """Of nodes and device events: how the module is known."""
    no_module: str | None
    """Of nodes and device events without a module: why."""
    work_kind: str | None
    """Kind of a device event: "matrix", "convolution", ..."""
    recompute: bool
    """Forward work that runs again within a node."""


class DeviceEvent(Struct, frozen=True):
    """A kernel, copy or set, by start."""

    id: int
    name: str
    category: str
    """ "kernel", "copy" or "set"."""
    kind: str
    """Its kernel class: "matrix", "convolution", ..."""
    kernel_id: int
    """Row of the table of kernels, which is cut to the most expensive names."""
    device_id: str
    stream_id: int
    start_us: Us
    """Start on the device, on the trace's own clock."""
    duration_us: Us
    """Time on the device."""
    launch_id: int | None
    """Call that launched it; None where that is not in the trace."""
    launch_thread_id: int | None
    launch_us: Us | None
    """Time of that call on the host."""
    launch_delay_us: Us | None
    """Time from the end of that call to the start on the device; 0 where it began before."""
    step: str | None
    """Step of the launch, or of the start without one."""
    step_id: int | None
    phase: str | None
    """Phase of the launch."""
    module: str | None
    module_id: int | None
    node: str | None
    """Autograd node that it was launched in."""
    node_id: int | None
    evidence: str | None
    """Of the backward pass: how the module is known."""
    no_module: str | None
    """Of the backward pass, without a module: why."""
    recompute: bool
    tensor_core: bool | None
    """Whether it ran on tensor cores; None where its name does not show it."""
    bytes: Bytes | None
    """Bytes that a copy or a set moves."""
    occupancy_pct: Percent | None
    """`est. achieved occupancy %` of a kernel; null where it is not in the trace, or is
    0 although each multiprocessor has a warp: unknown to the profiler."""


class HostRow(Struct, frozen=True):
    """An operator, annotation or runtime call, by thread, then as they nest."""

    id: int
    parent_id: int | None
    """Innermost row around it on its thread."""
    thread_id: int
    name: str
    category: str
    """ "operator", "annotation", "runtime" or "python"."""
    role: str | None
    """Its role in the analysis: "node", "forward_mark", "optimizer", ..."""
    start_us: Us
    """Start of the row, on the trace's own clock."""
    duration_us: Us
    """Time on the host, the rows inside included."""
    step: str | None
    step_id: int | None
    phase: str
    module: str | None
    module_id: int | None
    node: str | None
    node_id: int | None
    recompute: bool


class NodeEvaluation(Struct, frozen=True):
    """One evaluation of an autograd node, by thread, then by start."""

    id: int
    name: str
    name_id: int
    """Row of the table of nodes."""
    parent_id: int | None
    """Evaluation in which it is nested."""
    thread_id: int
    start_us: Us
    """Start of the evaluation, on the trace's own clock."""
    duration_us: Us
    """Time on the host, the evaluations nested in it included."""
    self_host_us: Us
    """Less the evaluations nested in it."""
    forward_op: str | None
    """Operator that made the node."""
    forward_op_id: int | None
    step: str | None
    step_id: int | None
    module: str | None
    module_id: int | None
    evidence: str | None
    """Evidence for the module."""
    no_module: str | None
    """Reason for the lack of a module."""


class Gap(Struct, frozen=True):
    """Idle time of a device with one cause, in one step or in none, by device, then by start."""

    id: int
    device_id: str
    start_us: Us
    """When the device had nothing more to do, the cause changed, or a step began or ended; on the
    trace's own clock."""
    duration_us: Us
    """Until other work began, the cause changed, or a step began or ended."""
    cause: str
    """ "sync", "data_loading", "copy", "allocator", "launch", ..., as in `Step.idle`."""
    step: str | None
    """Step in which it lies."""
    step_id: int | None
    sync_id: int | None
    """Sync that caused it."""
    event_id: int | None
    """Call that caused it, or that launched what ended it; of idle time of the host after the last
    device event, the wait that shows the device idle."""
    ended_by_id: int | None
    """Device event that ended it; None after the last."""


class CudaSync(Struct, frozen=True):
    """A `cuda_sync` row of the trace: a synchronization as CUPTI saw it, in file order.

    Only in a trace recorded with `_ExperimentalConfig(enable_cuda_sync_events=True)`, or by torch
    2.15's second exporter.
    """

    id: int
    cuda_sync_kind: str | None
    """ "Stream Sync", "Context Sync", "Event Sync" (also of a query) or "Stream Wait Event", in
    which a stream waits and the host does not."""
    start_us: Us
    """Start of the row, on the trace's own clock."""
    duration_us: Us
    """Length of the row. The time that the host spent is that of the call."""
    device_id: str | None
    stream: int | None
    """Stream waited for or, of "Stream Wait Event", the stream that waits; null for no certain
    one."""
    correlation: int | None
    call: str | None
    """Host call of the same correlation id."""
    call_id: int | None
    sync_id: int | None
    """Sync that the call is part of."""
    wait_on_stream: int | None
    """Stream on which the event waited for was recorded; null where the trace does not name it."""
    wait_on_cuda_event_id: int | None
    wait_on_cuda_event_record_corr_id: int | None
    """Correlation id of the call that recorded that event; null for one before the recording, and
    where no row names it, as torch 2.11 writes them (CUDA 13)."""
    record_id: int | None
    """That call, if it is in the trace."""
    step: str | None
    """Step in which it begins."""
    step_id: int | None


class RuntimeCall(Struct, frozen=True):
    """A call of the device's runtime, and how its time divides: waiting, transfer, its own work."""

    id: int
    name: str
    thread_id: int
    start_us: Us
    """Start."""
    duration_us: Us
    """The sum of `waited_us`, `transfer_us` and `own_us`; these are null where no device events
    were recorded."""
    waited_us: Us | None
    """From its start to the end of the last device event that it waited for; of a launch onto a
    full queue, by how much it is longer than the median."""
    transfer_us: Us | None
    """The part of the rest in which a copy ran that held the host (a synchronous one, or one of
    memory that is not pinned), or what a launch that waits for it launched."""
    own_us: Us | None
    """What is left, calls within it included."""
    work: str
    """What that is: "launch", "load" (of kernels' code), "allocate" (or free), "synchronize"
    (calling and returning), "copy" (preparing, staging), "set", "order" (events and streams),
    "create" (contexts, streams, events, graphs), "query", or "other" where the name does not
    say."""
    waited_for: str | None
    """Device event that it waited for: the last to end."""
    waited_for_id: int | None
    copy_id: int | None
    """The copy that held the host."""
    sync_id: int | None
    """Sync that the call is part of."""
    step: str | None
    """Step in which it begins."""
    step_id: int | None


class CriticalPathPiece(Struct, frozen=True):
    """A piece of the critical path of the replayed steps, in order; empty where none are replayed.

    The replay is that with nothing changed; its pieces add up to its steps.
    """

    id: int
    part: str
    """What passed the time: "host", "device", "communication", "wait", "data" or "unexplained", as
    in `PathTime`."""
    start_us: Us
    """Start in the replay, on the trace's own clock: the first step begins when it did."""
    duration_us: Us
    """Time until the next piece begins."""
    step: str
    """Step that the piece is part of: of what is measured from the end of the one before, on the
    host where that sets the pace, else of host and device."""
    step_id: int
    module: str | None
    """Of a device event, the module that launched it; of the host, the one that was open; of a
    latency, that of the device event after it, or before it."""
    module_id: int | None
    kind: str | None
    """Kernel class of the device event that ran: "matrix", "convolution", ..."""
    event_id: int | None
    """Device event that ran."""
    thread_id: int | None
    """Host thread that worked."""


class CriticalPathModule(Struct, frozen=True):
    """A module in a replayed step: its time on the critical path, and its slack if it is not there.

    Child modules are counted separately.
    """

    id: int
    step: str
    step_id: int
    module: str | None
    """Path of the module; null for what is not in a module."""
    module_id: int | None
    host_us: Us
    """Time on the path in which the host ran it."""
    device_us: Us
    """Time on the path of its device events, collectives included."""
    wait_us: Us
    """Latencies on the path, before its device events, or after them."""
    data_us: Us
    """Time on the path in a data loader; of no module."""
    unexplained_us: Us
    """Pauses on the path that nothing explains, before its device events."""
    slack_us: Us | None
    """Time by which its device events and host time in this step may grow, wherever, with the end
    of all replayed steps as early; null where nothing that is measured waits for it."""


class OperatorByShape(Operator, frozen=True):
    """All calls of operators of one name with inputs of the same shapes."""

    shapes: str | None
    """Shapes of the inputs as torch writes them, `[]` for what is no tensor; null where the trace
    was recorded without `record_shapes`."""
    types: str | None
    """Types of the inputs; of the group's first call."""


class OperatorByStack(Operator, frozen=True):
    """All calls of operators of one name from the same place of the program."""

    stack: str | None
    """Python frames around the calls, one per line, innermost first; in the backward pass those
    around the forward operator. Null where the trace holds none (`with_stack`)."""


class OperatorByModule(Operator, frozen=True):
    """All calls of operators of one name for one module in one phase."""

    module: str | None
    module_id: int | None
    phase: str
    """ "forward", "backward", "optimizer", "data" or "other"."""


class OperatorCall(Struct, frozen=True):
    """One call of an operator or annotation, by thread, then as they nest."""

    id: int
    name: str
    operator_id: int
    """Row of the table `operators`, which is cut to the most expensive names."""
    by_shape_id: int
    by_stack_id: int
    by_module_id: int
    thread_id: int
    start_us: Us
    """Start of the call, on the trace's own clock."""
    host_us: Us
    """Time on the host, the calls inside included."""
    self_host_us: Us
    """As in `Operator`."""
    device_us: Us | None
    """As in `Operator`."""
    self_device_us: Us | None
    """As in `Operator`."""
    flops: Flop | None
    """As in `Operator`."""
    tflop_per_s: TflopPerS | None
    """As in `Operator`."""
    shapes: str | None
    step: str | None
    step_id: int | None
    phase: str
    module: str | None
    module_id: int | None
    node: str | None
    node_id: int | None


class TableColumn(Struct, frozen=True):
    """A column of a table."""

    name: str
    type: str
    """ "text", "integer", "number", "boolean" or "json"."""
    unit: str | None
    description: str


class TablePage(Struct, frozen=True):
    """Some rows of a table."""

    table: str
    key: str
    """Column that names a row, as columns that end in `_id` refer to it."""
    total: Count
    """Rows that the filters leave."""
    offset: Count
    """Rows of these before the first one here."""
    left_out: Count
    """Rows of these after the last one here."""
    columns: list[TableColumn]
    rows: list[dict[str, Any]]
    """Values by column; null where the trace does not hold one."""
