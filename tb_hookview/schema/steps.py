"""The trace itself; rows about steps, and sums over all of them."""

from __future__ import annotations

import re
from typing import Any, Literal

from msgspec import Struct

from tb_hookview.schema.terms import Count, MeanCount, Share, TimeByKind, Times, Us


class Idle(Struct, frozen=True):
    """Idle time of the devices by cause. The parts sum to `device_idle_us`, to the nanosecond.

    A moment of idle time has the first of these causes that holds. A cause is null where the trace
    has no rows of the host that would show it (calls of the device's runtime, operators,
    annotations): the time is in `unknown` then.
    """

    sync: Us | None
    """The host was in a sync, or after one, as in `syncs[].device_idle_us`. After a sync only where
    none of `data_loading`, `copy`, `allocator` and `profiler` holds. The sum over syncs equals the
    sum over steps, but for syncs before, after or across steps: the part is counted where the idle
    time lies, the sync where it began."""
    data_loading: Us | None
    """The host was inside a `DataLoader` annotation."""
    copy: Us | None
    """A thread that launches work was inside a synchronous copy, or one of memory that is not
    pinned, while the device had nothing to do (its copy had not begun)."""
    allocator: Us | None
    """A thread that launches work was inside a call that allocates or frees memory (see
    `kernel_loading`)."""
    kernel_loading: Us | None
    """A thread that launches work was loading the code of kernels, as one of these shows. (1) A
    call that loads modules. (2) The first launch of a kernel in the trace, over 20 times the median
    of the call's later ones until the kernel began, without a wait, copy or allocation in it. (3)
    An operator in which a library (cuBLAS, cuDNN, MIOpen) starts, until it launches its first
    kernel: the first of its name that launches any, over 20 times later than the median of the
    others (of all others where none has its name). In it is `hipInit`, or `cudaFree` next to a call
    for properties of the device, or as the first call and before `cudaMalloc` where the operator is
    mostly in no call. Calls that allocate in it are `allocator`. (4) Such a `cudaFree` elsewhere,
    over 20 times the median of other calls that allocate or free; as the trace's first call, before
    all device work, over 100 times the longest of these. (5) A scripted function until a kernel of
    TorchScript's fuser first runs, 1 ms or more in no call, in which it compiles. (6) A call that
    launches nothing, for more than half of which the driver recorded that it loads. (7) A call of
    over 50 us that asks about a kernel (`cudaFuncGetAttributes`, `cudaFuncSetAttribute`,
    `cudaOccupancyMaxActiveBlocksPerMultiprocessor` and the like). (8) Other rows in which the
    driver does. Where Kineto does not know the driver's kinds of rows, those named `Unrecognized`
    are of loading that lie in such a call, in a first launch, or in a call that looks up a function
    or variable."""
    launch: Us | None
    """The next work was launched too late: its launch began after the gap did (less the launch
    latency), or the launching call of a kernel was still open then. The host had other things to
    do. The time ends with the launching call, or one launch latency after it began if that is
    later; a start up to one more latency later is part of it. Before the launch of a device's first
    work the launching thread was in anything recorded, and the device then started that work at
    once. After the last work of the only device the host launched nothing more, up to its last call
    that waits for the whole device, also the profiler's own: that shows the device idle."""
    communication: Us | None
    """The host was inside a collective of gloo, MPI or UCC, or a barrier; or the next work had been
    launched by then and was a collective's copy; or it had been launched in time and the work
    before was one. Kernels of collectives (NCCL) wait for other ranks as they run, not before: that
    time is busy. What is launched after a collective's end waits for no other rank."""
    profiler: Us | None
    """The profiler recorded overhead of its own, or was inside its own sync. `overhead` rows of the
    driver (loading of modules, a full command buffer) are not the profiler's. Or a thread was in
    the trace's first launch, and this alone is by (2) of `kernel_loading`, with ten or more other
    kernels launched, and nothing else loads: the profiler had just started."""
    device: Us | None
    """The next work had been launched by then, or before the trace began: the device idled although
    work was queued, or for something the trace does not show."""
    unknown: Us
    """Before the launch of a device's first work, where `launch` does not hold; between the launch
    and a late start of the first work of a device or a stream, as it is not in the trace what
    was queued before; after its last work, where
    `launch` does not hold; before work whose launch is not in the trace; whatever
    else holds, from a launch whose work is not in the trace to the first work launched later."""


class Step(Struct, frozen=True):
    """One step of the training loop; the host phases that are known sum to its duration."""

    id: int
    name: str
    start_us: Us
    """Start of the step, on the trace's own clock."""
    duration_us: Us
    """Length of the host row `ProfilerStep#N`, less `left_out_us`. Without any, an iteration ends
    with the optimizer's step and the next begins there: with the last, where several follow one
    backward pass, or where as many gradients are accumulated before every k-th alone, as in a GAN.
    An iteration that a gradient scaler skips, as its check and gradients zeroed before a step used
    them show, ends with its backward pass. Without optimizers too, iterations are annotations of
    one name, each up to the next, in which all operators of a thread lie, or all from the first
    one on if a backward pass runs in each; else a sequence of operators with a backward pass that
    a thread repeats from its first operator to its last, without those that read values. The last
    of these ends with its operators where it has as many as another one and, by the median, less
    than 5% of an iteration lies between two; else it is no step, as its end is not in the trace. A
    trace with none of these is one step."""
    forward_us: Us | None
    """Time in no other phase but `other` and inside a module's call (annotations do not count), or
    inside an operator that made an autograd node or holds one that did. Without sequence numbers
    (torch 1.7): from the first operator with the name of a node to the backward pass, on its
    thread; a name counts where as many operators as nodes of the pass have it. So is time inside a
    range by which a pipeline marks a forward (`attn(F)`, `forward-compute`, `Forward 3`, `PP:0F3`),
    where it marks the backward as well, and inside the ranges of DistributedDataParallel's and
    FSDP's forward. Null where the trace shows no forward at all, or by names
    not all of it: that time is in `other_us`."""
    backward_us: Us | None
    """Time in which any thread evaluated an autograd node (with the sums of gradients that the
    engine runs between nodes, also where the trace has no `evaluate_function` rows around them), or
    was in a range by which a pipeline marks a backward (`attn(B)`, `mlp(W)`, `backward-compute`),
    or in FSDP's after the last node (`FSDP::root_post_backward_callback`). Null, as the next two,
    where the trace has no operators, annotations or modules that would show a phase. Null too, as
    `forward_us` and `optimizer_us`, where it would be 0 and a graph that is replayed in the step
    may hold the phase (`totals.unplaced_graph_us`)."""
    optimizer_us: Us | None
    """Time in no backward in which parameters were updated: gradient scaling and clipping (our
    recorder's `call` marks), `step`, `zero_grad` (torch's `Optimizer.*` annotations), fused updates
    outside of these (`aten::_fused_adamw_`), and a compiled region that holds an update
    (`aten::_foreach_addcdiv_` too), but no forward, node or replayed graph. To multiply the loss by
    the scale is part of the forward, whose graph it adds to. Null where gradients are accumulated
    and the trace has none of these: an update of one's own is in `other_us`."""
    data_us: Us | None
    """Time in neither of these inside `DataLoader` annotations."""
    other_us: Us
    """The rest of the step."""
    device_busy_us: Us | None
    """Length of the union of a device's work, clipped to the step on the host and summed over the
    devices that did any work."""
    device_idle_us: Us | None
    """The step's duration times these devices, less `device_busy_us`."""
    sync_blocked_us: Us | None
    """Time in which some host thread was in a sync, the profiler's own left out. Null as
    `totals.sync_count`."""
    idle: Idle | None
    """`device_idle_us` by its cause."""
    queue_full_us: Us | None
    """Time in which a launch waited for room in a device's full queue: at least 900 launches of
    that device had not begun, and the call lasted over 20 times the median of its name, or, with as
    many ahead as 97% of the most that ever were, over 5 times the median of its name with fewer
    ahead. The device limits the step then, not the host: it is in no `sync_*`. Null without
    launches."""
    backward_idle_us: Us | None
    """The part of `device_idle_us` during which some thread evaluated a node: a device may still be
    busy with the forward then, or go on with the backward later. Null as `backward_us`."""
    counts: bool
    """Whether it is one of the steps of `per_step` and of the means in findings: every selected
    step; of a whole trace all but the first, which warms up, those that launched nothing, a last
    one without a backward pass, which all others have, and those at the end whose device work the
    trace lacks, as `breakdown` leaves them out; all, where that leaves none. The one step of a
    trace of a device alone counts if the device did anything."""
    device_us: Us | None = None
    """Sum of the durations of the device events that were launched in the step. It may exceed the
    step: streams run at the same time, and devices run on when the host is done. Null without
    device events."""
    launched_before_count: Count | None = None
    """Device events that began in the step and were launched before the trace began. They are in
    the step's busy time, but in none of its sums over device events. Null without launches."""
    launched_before_us: Us | None = None
    """Sum of their durations."""
    communication_wait_us: Us | None = None
    """Time in which the training thread waited for a collective that the host runs (gloo, MPI,
    UCC): from its last row to the collective's end, where it goes on soon after and is in no
    operator that computes. It is in `backward_us`, `other_us` or another phase already. Waits for
    collectives of a device are syncs. Null as `data_us`."""
    left_out_us: Us = 0.0
    """Time at the ends of the host row that is the recording's, and in no figure of the step: up to
    the end of a synchronize that waits for work from before the recording, as a device event
    without a launch shows, or as it is of the whole device, took most of the row, and ended before
    the first launch; from the profiler's own as it stops; and, without Python stacks, after the
    last row of the last step, if nothing is recorded there for ten times as long as at the end of
    any other step, and 1 ms longer."""


class Totals(Struct, frozen=True):
    """Sums over all selected steps."""

    device_busy_us: dict[str, Us]
    """By device: time in which it did any work."""
    backward_device_us: Us | None
    """Device time of work launched in the backward phase. Null, as the next two, where the trace
    has no launches or no operators to know phases by, and where a step replays a graph in no known
    phase (`unplaced_graph_us`) that may hold the phase: nothing else of it was launched in that
    step (of a forward, or nothing of a backward)."""
    forward_device_us: Us | None
    """Device time of work launched in the forward phase. Null where the trace does not show which
    of the work in no other phase is the forward's: no call of a module, no operator that made a
    node, nor (without sequence numbers) names for half of the nodes of each pass."""
    optimizer_device_us: Us | None
    """Device time of work launched in the optimizer phase, zeroing of gradients included. Null too
    where no optimizer is marked, as `steps[].optimizer_us`."""
    sync_count: Count | None
    """Syncs, the profiler's own included; not those left out of the only step of a trace that marks
    none (`steps[].left_out_us`). Null, as all of syncs, where no call of a device's runtime was
    recorded, unless the model ran on the CPU."""
    sync_blocked_us: Us | None
    """Sum of their durations. The time that the program was blocked is this less
    `profiler_sync_us`."""
    backward_sync_count: Count | None
    """Syncs in the backward phase."""
    device_wait_count: Count | None
    """Calls that make a stream wait for an event (`cudaStreamWaitEvent` and its like): the device
    waits, the host goes on, and they are in no `sync_*`. Null as `sync_count`."""
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
    profiler_sync_count: Count | None = 0
    """The profiler's own syncs among `sync_count`, as it starts or stops; null where that is."""
    profiler_sync_us: Us | None = 0.0
    """Sum of their durations."""
    sync_waited_us: Us | None = 0.0
    """The part of `sync_blocked_us` in which syncs waited for earlier work of the device. Null
    where no device events were recorded, and as `sync_count`."""
    sync_transfer_us: Us | None = 0.0
    """The part of it in which their own copies ran, or what launches that wait for it launched.
    Null as `sync_waited_us`."""
    forward_compute_us: Us | None = None
    """`forward_device_us` without communication."""
    unplaced_graph_us: Us | None = None
    """Device time of replayed graphs (CUDA, HIP) that were launched in no known phase: the trace
    does not hold the operators and modules that they were captured from. Null without launches."""

    def own_syncs(self) -> tuple[int, Us] | None:
        """Number and sum of the syncs without the profiler's own; None where they are unknown."""
        if self.sync_count is None or self.sync_blocked_us is None:
            return None
        count = self.sync_count - (self.profiler_sync_count or 0)
        return count, self.sync_blocked_us - (self.profiler_sync_us or 0.0)


class PerStep(Struct, frozen=True, kw_only=True):
    """Means over the measured steps: those that summaries, pages and comparisons show.

    They count the selected steps. Of a whole trace they count all but the first, which warms up,
    those in which nothing was launched, a last one without a backward pass, which all others have,
    as where an exception ends the recording, and those at the end whose device work the trace
    lacks; all, where that leaves none. Device events are in the step that launched them; those
    launched before the trace began are in none. Work between steps is left out.
    """

    steps: Count
    """Steps that the means are over."""
    of: Count
    """Steps of the trace."""
    marked: bool
    """Whether the trace shows steps, by `ProfilerStep#N`, rows of `Optimizer.step`, equal
    annotations in which all operators of a thread lie, or repetition of its operators; else its one
    step is the whole trace."""
    chosen: bool
    """Whether the steps were named."""
    text: str
    """Which steps the means are over, why others are left out, and how many of them have no
    backward pass or optimizer step, which others have."""
    duration_us: Us | None
    """Length of a step on the host; null, as all others, without steps."""
    forward_us: Us | None
    """Host time, as `steps[].forward_us`; the phases that are known sum to `duration_us`."""
    backward_us: Us | None
    """Host time, as `steps[].backward_us`."""
    optimizer_us: Us | None
    """Host time, as `steps[].optimizer_us`."""
    data_us: Us | None
    """Host time, as `steps[].data_us`."""
    other_us: Us | None
    """Host time, as `steps[].other_us`."""
    device_busy_us: Us | None
    """Time in which a device did any work, summed over the devices."""
    device_idle_us: Us | None
    """Time in which it did none, summed over the devices."""
    idle: Idle | None
    """`device_idle_us` by its cause."""
    device_us: Us | None
    """Sum of the durations of device events; see `steps[].device_us`."""
    backward_device_us: Us | None
    """The part of it launched in the backward phase."""
    forward_device_us: Us | None
    """The part of it launched in the forward phase."""
    optimizer_device_us: Us | None
    """The part of it launched in the optimizer phase."""
    communication_device_us: Us | None
    """The part of it that is communication, whether or not computation overlaps it."""
    device_us_by_kind: TimeByKind
    """All of it by kind; kinds without any are left out."""
    sync_count: MeanCount | None
    """Syncs, without the profiler's own. Null as `totals.sync_count`."""
    sync_blocked_us: Us | None
    """Sum of their durations."""
    communication_wait_us: Us | None = None
    """Host time, as `steps[].communication_wait_us`."""
    unplaced_graph_us: Us | None = None
    """Device time, as `totals.unplaced_graph_us`."""

    @property
    def scope(self) -> str:
        """What sums over all selected steps are of, as a phrase."""
        return "in the selected steps" if self.chosen else "in the whole trace"


class Breakdown(Struct, frozen=True):
    """One step with its device work, by torch_tb_profiler's categories, which sum to it.

    What was not recorded is in none of them: without rows of the host, its time is in `other_us`.
    """

    id: int
    """As `step_id`."""
    step: str
    step_id: int
    start_us: Us
    """Start of the step, but no earlier than the end of the one before."""
    duration_us: Us
    """Until the end of the step, or of the last device work launched in it. A step that the trace
    marks has the time of `left_out_us` of `steps[]`, as in torch_tb_profiler; another has not."""
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


# Rows of a report about the trace itself and its recording.


class Device(Struct, frozen=True):
    """A device that did any work."""

    id: str
    """Device index as the trace numbers it, as text ("0")."""
    name: str
    kind: str
    """ "cuda", "hip", "ze" or "ur" (XPU); "device" where the runtime is unknown."""


WarningSeverity = Literal["high", "low"]


class TraceWarning(Struct, frozen=True):
    """Something that speaks against the trace, or that a reader of the report should know."""

    id: str
    """The code; `code#2` for the second of a code."""
    code: str
    message: str
    count: Count
    """Number of times it was seen."""
    severity: WarningSeverity = "low"
    """ "high" where it makes figures of the report wrong or leaves them out.
    `docs/explanation/reliability.md` lists the codes."""


class Recording(Struct, frozen=True):
    """How much longer a step was for being recorded.

    Our `profile` times steps by the host's clock, each from the return of one call of its `step` to
    the next call. Medians (the lower of an even number), so that one evaluation between two steps
    does not count. On a device
    that works asynchronously the time of one step is the time to queue it; over consecutive steps
    the host runs at the device's pace. Left out are the first of each sequence of steps that are
    not recorded (the training's own warmup, or a queue that the profiler has just emptied), and
    steps in which the profiler warms up. At most the latest 100 steps of each kind count.

    A step that is recorded is longer because of time on the host: host times, idle times of the
    devices and the length of steps are overstated by it, durations of device events hardly.
    """

    unrecorded_step_us: Us | None
    """Median of the steps that were not recorded and ended before this file was written; null
    without one, as where the schedule's `wait` is below 2."""
    recorded_step_us: Us | None
    """Median of the steps that were recorded into this file; null without one."""
    slowdown: Times | None
    """`recorded_step_us` divided by `unrecorded_step_us`; null where one of them is, and where
    `unrecorded_steps` is below 2: a single step may be one that warms up or compiles."""
    unrecorded_steps: Count
    """Steps of which `unrecorded_step_us` is the median."""
    recorded_steps: Count
    """Steps of which `recorded_step_us` is the median."""


class TraceInfo(Struct, frozen=True):
    """The file, and what it was recorded on."""

    path: str
    format: str
    """Form of the file's root: "chrome-object" or "chrome-list"."""
    events: Count
    """Events of the file, of every phase (`ph`): rows, instants, arrows, names of threads."""
    start_us: Us
    """On the trace's own clock."""
    duration_us: Us
    """From the first start to the last end of the events of host and devices."""
    devices: list[Device]
    rank: int | None
    world_size: int | None
    torch_version: str | None
    recorder: dict[str, Any] | None
    """The recorder's manifest (version, markers); null where it left none."""
    warnings: list[TraceWarning]
    """Those of high severity first."""
    recording: Recording | None = None
    """Null where the recorder timed no steps."""


_EXPLAINS = re.compile("[:;] ")
"""What follows in a warning explains it."""
WITHOUT_CALLS = frozenset(
    {
        *("compiled-after-wrap", "no-module-calls", "nothing-ran"),
        *("unrecorded-steps", "unrecorded-thread"),
    }
)
"""Codes of warnings that nothing of the model was recorded, whose message ends with the remedy."""


def severe_warnings(trace: TraceInfo) -> list[TraceWarning]:
    """What makes figures of a report wrong or leaves them out: it heads every summary."""
    return [warning for warning in trace.warnings if warning.severity == "high"]


def in_short(warning: TraceWarning) -> str:
    """What a warning says, without the explanation that follows."""
    if warning.code in WITHOUT_CALLS:
        return warning.message
    return _EXPLAINS.split(warning.message, maxsplit=1)[0]


class Marks(Struct, frozen=True):
    """Marks of the recorder that began within the selected steps, on any thread, by kind."""

    forward: Count
    """Forward ranges."""
    gradient: Count
    """Gradient marks."""
    backward: Count
    """Marks before and after a module's backward, each counted."""
    function: Count
    """Ranges around calls that scale or clip gradients."""


class Recorder(Struct, frozen=True):
    """Marks of the recorder in the selected steps, and their cost."""

    version: int | None
    """Version of the marks' format; the latest of those in the trace."""
    markers: list[str]
    """The `markers` options that modules were wrapped with, from the manifest; empty without
    one."""
    marks: Marks
    own_host_us: Us | None
    """An estimate: for each kind, the marks counted times the host time that one of them cost,
    which the recorder measured during the recording and left in the manifest (`cost_us`, a median).
    Null where the manifest has none for a kind that is there."""
    own_share: Share | None
    """`own_host_us` divided by the summed `duration_us` of the selected steps. Marks on threads
    that ran at the same time are all counted, though not each of them makes a step longer. The
    profiler's own cost is not in it."""
