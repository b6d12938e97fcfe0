"""The report as sent and stored: a typed row per table of the contract.

Times are microseconds (float) on the trace's own clock, sizes bytes. A number that the trace does
not hold is None. `definitions.md` has the definitions of all fields, and how they are found.

Every row has an `id`, unique in its table. It is a fact of the trace: whatever steps a report is
about, the same row has the same id.

- One event of the trace has its row in the trace, which is its id in the timeline too (`event_id`).
- What the analysis numbers has its index there: steps, modules, syncs, gaps, threads, streams.
- What sums events of one name up has the least id of these events: kernels, nodes, operators,
  allocations.
- Devices have their name in the trace ("0"), findings `rule:where`, warnings their code.
- Rows of the critical path have `part:phase:name`.
- Rows of memory have `device`, `device:step_id`, `device:module_id`, or `device:` with the least id
  of the events of the operator's name.

`NAME_id` refers to a row of another table, None for no row.
"""

from __future__ import annotations

from msgspec import Struct

from tb_hookview.schema.attribution import CompiledGraphs, CompiledRegion, Coverage, Module, Node
from tb_hookview.schema.findings import Finding, PathWork, Verdict
from tb_hookview.schema.host import Allocation, Operator, Sync, Thread
from tb_hookview.schema.kernels import DeviceUse, Kernel, KernelsOmitted, Stream
from tb_hookview.schema.memory import MemoryModule, MemoryOperator, MemoryPeak, OutOfMemory
from tb_hookview.schema.steps import Breakdown, PerStep, Recorder, Step, Totals, TraceInfo

SCHEMA_VERSION = 1
OPERATORS = 1000
"""Most rows of the table of operators; names of annotations may hold a number."""
_BEHIND = 0.005
"""Share of the step on the host by which the device needs longer per step, to set its length."""


class ReportData(Struct, frozen=True):
    """The whole report. What is not called a mean is a sum over the selected steps; of a whole
    trace, over all of it."""

    schema: int
    """Version of the report's form; one version only gains fields."""
    trace: TraceInfo
    totals: Totals
    steps: list[Step]
    modules: list[Module]
    """Parents before children, each root's tree in `named_modules()` order."""
    nodes: list[Node]
    syncs: list[Sync]
    allocations: list[Allocation]
    """By name, most expensive first."""
    coverage: Coverage
    findings: list[Finding]
    per_step: PerStep
    verdict: Verdict
    critical_path_work: list[PathWork] = []
    """The critical path of the measured steps by what ran, the longest first; empty where the steps
    are not replayed, or the device ran earlier work for long. At most 30 rows by name; the others
    are summed up by part and phase."""
    recorder: Recorder | None = None
    """Null where the trace holds no marks of our recorder."""
    kernels: list[Kernel] = []
    """Device work by name and kind, most expensive first; copies and sets are rows too. At most 500
    rows."""
    kernels_omitted: KernelsOmitted | None = None
    """Sum of the rows that `kernels` leaves out; null where the table is complete."""
    operators: list[Operator] = []
    """`cpu_op` and `user_annotation` rows by name, most expensive first. Steps and our recorder's
    marks are left out. At most 1000 rows."""
    breakdown: list[Breakdown] = []
    """Steps in order. Steps at the end whose device work the trace does not hold, or less than 80%
    as many device events as of the step before, are left out; all, where a device ran and was not
    recorded."""
    devices: list[DeviceUse] = []
    streams: list[Stream] = []
    """By device, busiest first."""
    threads: list[Thread] = []
    """Threads of the host on which operators, annotations or calls of the device's runtime began,
    busiest first; what runs on no thread of the forward or the backward (the collectives' and
    loaders' own) is here too. Rows among a device's streams that mirror calls are not threads."""
    memory_peaks: list[MemoryPeak] = []
    """Of each device that of the whole trace, then those of the selected steps. Empty where the
    trace was recorded without `profile_memory`, or by torch 1.9 and before, which wrote no totals.
    """
    memory_modules: list[MemoryModule] = []
    """By device, most bytes at the peak of the selected steps first."""
    memory_operators: list[MemoryOperator] = []
    """By device, most bytes allocated by the operator itself first. At most 1000 rows."""
    out_of_memory: list[OutOfMemory] = []
    """Allocations that failed, in order of time."""
    compiled: CompiledGraphs | None = None
    """Null where no compiled graph was called, or the trace has no map of our recorder's."""
    compiled_regions: list[CompiledRegion] = []
    """Most expensive first; at most 500 rows."""
    device_advice: str | None = None
    """What to do where the trace has no device events: record them, or what to change on the CPU;
    null with device events, and where nothing can be said."""


def is_behind(data: ReportData) -> bool:
    """Whether steps last longer on the device than on the host: it runs ahead of the device, which
    decides their length or whose work alone takes longer."""
    host, verdict = data.per_step.duration_us, data.verdict
    if host is None or verdict.device_us is None or verdict.step_us is None:
        return False
    decides = verdict.bound in ("device", "communication")
    needs = verdict.step_us if decides else min(verdict.device_side_us or 0.0, verdict.step_us)
    return needs > (1 + _BEHIND) * host


def whole_step_us(data: ReportData) -> float | None:
    """Mean length of a step, microseconds: on the device where it takes longer there, else on the
    host; None without steps."""
    return data.verdict.step_us if is_behind(data) else data.per_step.duration_us
