"""Rows about memory: peaks, modules and operators, and the curve of live bytes."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from tb_hookview.schema.terms import Bytes, Count, Us

MEMORY_CLASSES = (
    "parameter",
    "optimizer_state",
    "gradient",
    "activation",
    "recomputed",
    "input",
    "temporary",
    "before_recording",
    "workspace",
    "unknown",
)
"""Classes of live bytes, in the order in which they are stacked."""

BytesByClass = Annotated[dict[str, Bytes], Meta(extra={"keys": MEMORY_CLASSES})]
"""Live bytes by class; classes without any are left out. definitions.md defines them.
"""


class MemoryPeak(Struct, frozen=True):
    """The most bytes that were allocated on a device, in the whole trace or in one step."""

    id: str
    device: str
    """As `torch.device` spells it: `cpu`, `cuda:0`."""
    step: str | None
    """Null for the peak of the whole trace."""
    step_id: int | None
    time_us: Us
    """The first moment at which it was reached, on the trace's own clock."""
    allocated_bytes: Bytes
    """`Total Allocated` of the allocator, and memory that it does not count: batches that a
    loader's workers share."""
    reserved_bytes: Bytes | None
    """`Total Reserved` at that moment: bytes that the allocator holds, in use or not. Null on the
    CPU, where none are held back."""
    classes: BytesByClass | None
    """They sum to `allocated_bytes`. Null where the trace has no addresses."""
    phase: str | None
    """Phase of the host row around the last allocation up to then; null without one."""
    operator: str | None
    """Innermost operator around it."""
    module: str | None
    """Module whose row that is."""
    module_id: int | None
    event_id: int | None
    """That row."""


class MemoryModule(Struct, frozen=True):
    """Memory of a module on a device, without that of its child modules."""

    id: str
    device: str
    module: str | None
    """Null for what is not in a module."""
    module_id: int | None
    peak_bytes: Bytes
    """Live at the peak of the selected steps, allocated in this module."""
    classes: BytesByClass
    """They sum to `peak_bytes`."""
    allocated_bytes: Bytes
    """Bytes of all blocks allocated in the selected steps, freed or not."""
    allocations: Count
    """Blocks allocated in the selected steps."""
    activations: Count
    """Those of them that were saved for the backward pass."""
    activation_bytes: Bytes
    """Their bytes."""
    activation_lifetime_us: Us | None
    """Mean time from allocation to free, of those freed in the recording; null without one."""
    activation_longest_us: Us | None
    """The longest of these times."""
    checkpoint_bytes: Bytes | None
    """Most bytes that checkpointing the module would free at the peak: activations live then that
    were allocated in it or below, and freed by its nodes or by those below. An upper bound, since
    its own backward needs them all again: the peak may move there. Null without a module."""


class MemoryOperator(Struct, frozen=True):
    """Memory that operators of a name allocated and freed on a device."""

    id: str
    device: str
    operator: str
    calls: Count
    """Rows of that name in the trace."""
    increase_bytes: Bytes
    """Allocated minus freed, operators inside included, each once; below 0 where more was freed."""
    self_increase_bytes: Bytes
    """The same without the operators inside."""
    allocated_bytes: Bytes
    """Allocated, operators inside included."""
    self_allocated_bytes: Bytes
    """Allocated by the operator itself."""
    allocations: Count
    """Blocks allocated, operators inside included."""
    self_allocations: Count
    """Blocks that the operator itself allocated."""


class OutOfMemory(Struct, frozen=True):
    """An allocation that failed: `[OutOfMemory]` in the trace."""

    id: int
    device: str
    time_us: Us
    """When it failed, on the trace's own clock."""
    requested_bytes: Bytes | None
    """Bytes asked for."""
    allocated_bytes: Bytes | None
    """Bytes in use on the device at that moment."""
    reserved_bytes: Bytes | None
    """Bytes that the allocator held."""
    operator: str | None
    module: str | None
    module_id: int | None


class MemoryBlock(Struct, frozen=True):
    """A block of memory: an allocation with the free of the same address that follows it."""

    id: int
    """Row of its first event among the `[memory]` events of the trace."""
    device: str
    memory_class: str
    """What it is by its life: docs/reference/definitions.md."""
    bytes: Bytes
    """Its size, as the allocator rounds it."""
    allocated_us: Us | None
    """Null for a block from before the recording."""
    freed_us: Us | None
    """Null for a block that is not freed in the recording."""
    lifetime_us: Us | None
    """From the allocation to the free; null where one of them is not in the recording."""
    operator: str | None
    """Innermost operator that allocated it; of `aten::empty*` with the operator around it."""
    operator_id: int | None
    freed_by: str | None
    """Innermost row in which it was freed."""
    freed_by_id: int | None
    step: str | None
    """Step of the allocation, or of the free without one."""
    step_id: int | None
    phase: str | None
    module: str | None
    module_id: int | None


class MemoryPoint(Struct, frozen=True):
    """A level of a device's memory, which lasts until the next point."""

    id: int
    device: str
    time_us: Us
    """Time of the event, on the trace's own clock."""
    allocated_bytes: Bytes
    """`Total Allocated` after it."""
    reserved_bytes: Bytes | None
    """`Total Reserved` after it; null on the CPU."""
    parameter_bytes: Bytes | None
    """Live bytes of this class. The classes sum to `allocated_bytes`; null without addresses."""
    optimizer_state_bytes: Bytes | None
    """Live bytes of this class."""
    gradient_bytes: Bytes | None
    """Live bytes of this class."""
    activation_bytes: Bytes | None
    """Live bytes of this class."""
    recomputed_bytes: Bytes | None
    """Live bytes of this class."""
    input_bytes: Bytes | None
    """Live bytes of this class."""
    temporary_bytes: Bytes | None
    """Live bytes of this class."""
    before_recording_bytes: Bytes | None
    """Live bytes of this class."""
    workspace_bytes: Bytes | None
    """Live bytes of this class."""
    unknown_bytes: Bytes | None
    """Live bytes of this class."""


class MemoryBand(Struct, frozen=True):
    """A step or a span of one phase."""

    name: str
    start_us: Us
    """Start, on the trace's own clock."""
    end_us: Us
    """End, on the trace's own clock."""


class MemoryCurve(Struct, frozen=True):
    """Levels of one device in a window of time, as columns of equal length."""

    device: str
    start_us: Us
    """Start of the window."""
    end_us: Us
    """End of the window."""
    time_us: list[Us]
    """Times of the points, on the trace's own clock."""
    allocated_bytes: list[Bytes]
    """`Total Allocated` from each point on."""
    reserved_bytes: list[Bytes] | None
    """`Total Reserved` from each point on; null where the allocator holds nothing back."""
    classes: dict[str, list[Bytes]]
    """Live bytes of each class from each point on; they sum to `allocated_bytes`. Classes without
    any are left out, all of them where the trace has no
    addresses."""
    exact: bool
    """Whether each event is a point. Else the window is in equal parts, with the highest and lowest
    level of each."""
    steps: list[MemoryBand]
    phases: list[MemoryBand]
    """Longest 500 of the window, in order of time."""


class MemoryAnswer(Struct, frozen=True):
    """Memory of a trace, seen from one device in a window of time."""

    recorded: bool
    """Whether the trace was recorded with `profile_memory=True`."""
    devices: list[str]
    """With the largest peak first."""
    peaks: list[MemoryPeak]
    """Of the whole trace for each device, then of the steps of the chosen one."""
    modules: list[MemoryModule]
    """Of the chosen device at the chosen peak; at most 500, largest first."""
    parameter_bytes: Bytes | None
    """Bytes of all parameters by the recorder's manifest, counted by the allocator or not."""
    curve: MemoryCurve | None
