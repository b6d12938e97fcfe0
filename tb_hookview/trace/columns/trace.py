"""`Trace`: columns with one row per complete event, and an interned string table."""

from __future__ import annotations

from collections.abc import Callable
from sys import getsizeof
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import astuple
from numpy.typing import NDArray

from tb_hookview.arrays.joins import unique_inverse
from tb_hookview.arrays.types import Code, DeviceNumber, EventRow, Float, Index, Int, Nanoseconds
from tb_hookview.trace.format.compiled_graphs import CompiledGraphs
from tb_hookview.trace.format.manifest import Manifest
from tb_hookview.trace.source.file import TraceFile
from tb_hookview.trace.source.inflate import LOSSES, Notice


class Thread(NamedTuple):
    """A row of the trace viewer: a host thread, or a stream of a device."""

    pid: str
    tid: str
    name: str

    @property
    def stream(self) -> str:
        """Name of the stream, of a row that is one."""
        return self.tid.removeprefix("stream ")


class StringTable(Struct, frozen=True):
    """Interned texts; columns hold indices into it."""

    texts: tuple[str, ...]

    def __getitem__(self, index: int) -> str:
        return self.texts[index]

    def __len__(self) -> int:
        return len(self.texts)

    def map(self, index: Index | Int, of: Callable[[str], Any], dtype: Any) -> NDArray[Any]:
        """What a function makes of each text, asked once for each; of "" where the index is -1."""
        distinct, place = unique_inverse(index)
        texts = (self.texts[each] if each >= 0 else "" for each in distinct.tolist())
        return np.array([of(text) for text in texts], dtype)[place]


class Events(Struct, frozen=True):
    """Complete events in file order; every array has shape (n,).

    Times are on the trace's own clock. -1 stands for "not in the file", except where noted. A
    column that was not wanted (`format/wanted.py`) has shape (0,).
    """

    name: Index
    """Index into the string table."""
    kind: Code
    """`EventCategory`."""
    start: Nanoseconds
    duration: Nanoseconds
    thread: Index
    """Index into `Trace.threads`."""
    correlation: Int
    sequence: Int
    """Autograd sequence number of a node, or of the next node of a forward operator."""
    forward_thread: Int
    """Profiler's number of the thread whose forward made this node; 0 for none."""
    external: Int
    """`External id` of an operator, or of that around a runtime call or a device event's launch."""
    device: DeviceNumber
    """Number of the device, on device rows."""
    blocks_per_sm: Float
    """Blocks of a kernel per multiprocessor of the device, NaN where not in the file."""
    occupancy: Float
    """Estimated achieved occupancy of a kernel, percent; NaN where not in the file, or 0 although
    each multiprocessor has a warp."""
    graph: Int
    """Number of the CUDA graph that a device event is part of; 0 for none."""
    graph_node: Int
    """Number of its node in that graph, the same in each replay; 0 for none."""
    bytes: Int
    """Bytes that a copy or a set moves."""
    shapes: Index
    """Shapes of an operator's inputs, as an index into `Trace.texts`; 0 for none."""
    types: Index
    """Types of an operator's inputs, in the same way."""
    concrete: Index
    """Values of an operator's inputs that are no tensors, in the same way."""
    grid: Index
    """Blocks of a kernel in each dimension, in the same way."""
    block: Index
    """Threads of its blocks in each dimension, in the same way."""
    registers: Int
    """Registers of each of its threads."""
    shared_memory: Int
    """Bytes of shared memory that each of its blocks has."""

    def __len__(self) -> int:
        return len(self.name)

    @property
    def end(self) -> Nanoseconds:
        """Start plus duration."""
        return self.start + self.duration


class Flows(Struct, frozen=True):
    """Forward-backward arrows: from the start of a forward operator to that of its node."""

    from_thread: Index
    from_time: Nanoseconds
    to_thread: Index
    to_time: Nanoseconds

    def __len__(self) -> int:
        return len(self.from_thread)


class Memory(Struct, frozen=True):
    """Events of torch's allocators in file order; every array has shape (m,), -1 for unknown."""

    time: Nanoseconds
    thread: Index
    """Index into `Trace.threads`: the host thread that called the allocator."""
    device_type: Int
    """`DeviceType` of torch: 0 the host, 1 CUDA, 6 HIP, 12 XPU, 20 another."""
    device_index: DeviceNumber
    """-1 for the host."""
    amount: Int
    """Bytes allocated; below 0 those freed, 0 for unknown."""
    allocated: Int
    """Bytes in use after it, on this device."""
    reserved: Int
    """Bytes that torch's allocator holds after it, on this device."""
    address: Int
    """Of the block. torch 1.9 and before wrote none."""

    def __len__(self) -> int:
        return len(self.time)


class Collectives(Struct, frozen=True):
    """Collective calls, by `record_param_comms`; every array has shape (c,)."""

    event: EventRow
    sent: Int
    received: Int
    """Elements of the message of this rank, -1 for unknown."""
    group_size: Int
    """Ranks that take part, -1 for unknown."""
    collective_number: Int
    """Number of the collective in its process group, equal on all its ranks; -1 for unknown."""
    source_rank: Int
    target_rank: Int
    """Ranks in the group between which a message goes from point to point, -1 for none."""
    collective: tuple[str, ...]
    """Its name, such as `allreduce`; "" for unknown."""
    dtype: tuple[str, ...]
    """Type of its elements, such as `Float`; "" for unknown."""
    group: tuple[str, ...]
    """Name of the process group; "" for unknown, as of the next two."""
    group_description: tuple[str, ...]
    group_ranks: tuple[str, ...]
    """Ranks of the group as the file has them, `[0, 1]`; a long list is cut."""

    def __len__(self) -> int:
        return len(self.event)


class CudaSyncs(Struct, frozen=True):
    """`cuda_sync` rows: synchronizations as CUPTI saw them; arrays of shape (s,), -1 for unknown.

    They are in a file that was recorded with `enable_cuda_sync_events`, or by torch's second
    exporter.
    """

    event: EventRow
    kind: tuple[str, ...]
    """ "Stream Sync", "Context Sync", "Event Sync" or "Stream Wait Event"; "" for unknown."""
    stream: Int
    """Stream that is waited for or, of "Stream Wait Event", that waits; -1 also for none."""
    wait_on_stream: Int
    """Stream on which the event waited for was recorded."""
    record_correlation: Int
    """Correlation id of the call that recorded that event."""
    cuda_event: Int
    """Number of that event."""
    correlation: Int
    """Correlation id of the host's call."""
    device: DeviceNumber

    def __len__(self) -> int:
        return len(self.event)


class DeviceProperties(NamedTuple):
    """One entry of the file's `deviceProperties`; None for unknown."""

    id: int
    name: str
    capability: tuple[int, int] | None = None
    """`computeMajor` and `computeMinor`; those of AMD are the first figures of its `gfx` name."""
    memory: int | None = None
    """Bytes."""


class Content(Struct, frozen=True):
    """What a trace file holds. Nothing in it is changed after reading."""

    format: str
    """ "chrome-object" or "chrome-list"."""
    event_count: int
    """Events in the file, of every phase."""
    strings: StringTable
    texts: StringTable
    """Arguments as JSON text, such as `[[8, 16], []]`; the first is empty."""
    events: Events
    threads: tuple[Thread, ...]
    flows: Flows
    memory: Memory
    """`[memory]` events: blocks allocated and freed, if recorded with `profile_memory`."""
    out_of_memory: Memory
    """`[OutOfMemory]` events; `amount` is what could not be allocated."""
    collectives: Collectives
    cuda_syncs: CudaSyncs
    devices: tuple[DeviceProperties, ...]
    """As the file lists them: every visible device, used or not."""
    runtime: str
    """ "cuda", "hip", "ze" or "ur" (XPU), "" for unknown."""
    rank: int | None
    world_size: int | None
    process_groups: int | None
    """Different sets of several ranks that are a process group of this one; None for unknown."""
    manifest: Manifest | None
    notices: tuple[Notice, ...]
    compiled: CompiledGraphs | None
    """The recorder's map from compiled kernels to modules."""


class Trace(Content, frozen=True):
    """A whole trace file."""

    file: TraceFile

    @property
    def path(self) -> str:
        """Address of the file."""
        return self.file.address

    @property
    def nbytes(self) -> int:
        """Bytes that its columns and texts take in memory."""
        tables = (self.events, self.flows, self.memory)
        columns: int = sum(column.nbytes for table in tables for column in astuple(table))
        return columns + sum(map(getsizeof, self.strings.texts + self.texts.texts))

    @property
    def lost(self) -> str | None:
        """What of the file could not be read, and where; None where all was."""
        return next((notice.message for notice in self.notices if notice.code in LOSSES), None)
