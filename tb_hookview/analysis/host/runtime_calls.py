"""Effects on the host of runtime calls, by their names, of every vendor.

Each distinct name is matched once. The names are those of the vendors' interfaces: CUDA and HIP
runtime and driver, MUSA, Level Zero and Unified Runtime (XPU), SynapseAI (HPU), CANN (NPU), and
the stream calls of MTIA. A suffix (`_ptsz`, `_spt`, `_v2`) is another entry to the same call.
"""

from __future__ import annotations

import re
from enum import IntEnum

import numpy as np

from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.arrays.joins import unique_inverse
from tb_hookview.arrays.types import Int
from tb_hookview.trace import EventCategory


class Call(IntEnum):
    """Effects that a call may have on the host."""

    NONE = 0
    """A launch, a poll, an asynchronous copy between pinned memory and device, anything else."""
    WAIT = 1
    """Returns when the device has done what it was given."""
    COPY = 2
    """A copy that returns when it is done."""
    ASYNC_COPY = 3
    """A copy that may wait, by the memory at its ends and by its size."""
    ALLOCATE = 4
    """Allocates or frees memory: slow, and some stop the device."""
    DEVICE_WAIT = 5
    """Orders streams on the device; the host goes on."""
    LOAD = 6
    """Loads the code of kernels, or compiles or links it: slow, and done once."""


_RUNTIME = "(?:cuda|hip|mu|musa)"
_PATTERNS = (
    (
        Call.WAIT,
        rf"(?:{_RUNTIME}|cu)(?:Device|Stream|Event|Ctx|Thread)Synchronize(?:_\w+)?"
        r"|zeCommandQueueSynchronize|ze(?:CommandList|Event|Fence)HostSynchronize"
        r"|(?:ur|pi)QueueFinish|urEventWait|piEventsWait"
        r"|synchronize(?:Stream|Device|Event)?"
        r"|syn(?:Stream|Event|Device)Synchronize"
        r"|aclrtSynchronize(?:Device|Stream|Event)(?:WithTimeout)?",
    ),
    (Call.COPY, rf"(?:(?:{_RUNTIME}|cu)Memcpy|aclrtMemcpy)(?!.*Async)\w*"),
    (
        Call.ASYNC_COPY,
        rf"(?:(?:{_RUNTIME}|cu)Memcpy|aclrtMemcpy)\w*Async\w*"
        r"|zeCommandListAppendMemoryCopy\w*|urEnqueue(?:USMMemcpy|USM2DMemcpy|MemBuffer)\w*",
    ),
    (
        Call.ALLOCATE,
        rf"{_RUNTIME}(?:Ext)?(?:Host)?(?:Malloc|Free|Alloc)(?!.*Async)\w*"
        rf"|{_RUNTIME}Host(?:Register|Unregister)\w*"
        rf"|{_RUNTIME}Ipc(?:Open|Close)MemHandle\w*|{_RUNTIME}(?:Device)?MemPoolTrimTo\w*"
        rf"|(?:{_RUNTIME}|cu)Mem(?:Create|Map|Unmap|Release|SetAccess"
        r"|AddressReserve|AddressFree)(?:_\w+)?"
        r"|cuMem(?:Alloc|Free|Host(?:Alloc|Register|Unregister))(?!.*Async)\w*"
        r"|zeMem(?:Alloc|Free)\w*|urUSM(?:\w+Alloc|Free)\w*|aclrt(?:Malloc|Free)\w*",
    ),
    (
        Call.DEVICE_WAIT,
        rf"(?:{_RUNTIME}|cu)StreamWaitEvent\w*|zeCommandListAppend(?:Barrier|WaitOnEvents)\w*"
        r"|urEnqueueEventsWait\w*|synStreamWaitEvent|aclrtStreamWaitEvent\w*"
        r"|enqueueCommand waitOnEvent|event_wait",
    ),
    (
        Call.LOAD,
        rf"(?:{_RUNTIME}|cu)(?:Module|Library)(?:Load|GetFunction|GetKernel|GetModule)\w*"
        rf"|(?:{_RUNTIME}|cu)(?:KernelGetFunction|FuncLoad|LinkComplete)(?:_\w+)?"
        r"|zeModuleCreate|(?:ur|pi)Program(?:Build|Link|Compile)\w*|aclrtBinaryLoad\w*",
    ),
)
_COMPILED = tuple((call, re.compile(pattern)) for call, pattern in _PATTERNS)
_MAY_MATCH = re.compile(r"cuda|cu[A-Z]|hip|mu|ze[A-Z]|ur[A-Z]|pi[A-Z]|syn|aclrt|enqueue|event_wait")


def call_of(name: str) -> Call:
    """Effect that a call of this name may have on the host."""
    if _MAY_MATCH.match(name):
        for call, pattern in _COMPILED:
            if pattern.fullmatch(name):
                return call
    return Call.NONE


def call_rows(host: HostRows) -> Int:
    """`Call` of each row of the call tree."""
    # Rows on a device's threads only mirror calls.
    texts, calls = host.trace.strings, np.flatnonzero(host.kind == EventCategory.RUNTIME)
    call = np.full(len(host), Call.NONE, np.int64)
    name, place = unique_inverse(host.string[calls])
    call[calls] = np.array([call_of(texts[string]) for string in name.tolist()], np.int64)[place]
    call[host.device_threads[host.call_tree.thread]] = Call.NONE
    return np.asarray(call)
