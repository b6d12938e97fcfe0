"""Event categories of every era of the trace format."""

from __future__ import annotations

from enum import IntEnum


class EventCategory(IntEnum):
    """Category of a complete event, whichever vocabulary it was written in."""

    OTHER = 0
    """A category this version does not know; counted."""
    OPERATOR = 1
    ANNOTATION = 2
    PYTHON = 3
    RUNTIME = 4
    """A call into the device's runtime or driver, on a host thread."""
    KERNEL = 5
    COPY = 6
    SET = 7
    DEVICE_ANNOTATION = 8
    """Device-side copy of an annotation or of a host's synchronization, or a graph's node that is
    neither kernel nor copy; keeps no device busy."""
    OVERHEAD = 9
    SPAN = 10
    """The profiler's own window."""


DEVICE_CATEGORIES = (EventCategory.KERNEL, EventCategory.COPY, EventCategory.SET)
"""Categories of the events that keep a device busy."""

PYTHON_CATEGORY = "python_function"

CATEGORIES: dict[str, EventCategory] = {
    "cpu_op": EventCategory.OPERATOR,
    "operator": EventCategory.OPERATOR,
    "hpu_op": EventCategory.OPERATOR,
    "user_annotation": EventCategory.ANNOTATION,
    PYTHON_CATEGORY: EventCategory.PYTHON,
    "cuda_runtime": EventCategory.RUNTIME,
    "cuda_driver": EventCategory.RUNTIME,
    "runtime": EventCategory.RUNTIME,
    "xpu_runtime": EventCategory.RUNTIME,
    "xpu_driver": EventCategory.RUNTIME,
    "mtia_runtime": EventCategory.RUNTIME,
    "glow_runtime": EventCategory.RUNTIME,
    "privateuse1_runtime": EventCategory.RUNTIME,
    "privateuse1_driver": EventCategory.RUNTIME,
    "kernel": EventCategory.KERNEL,
    "mtia_ccp_events": EventCategory.KERNEL,
    "gpu_memcpy": EventCategory.COPY,
    "memcpy": EventCategory.COPY,
    "gpu_memset": EventCategory.SET,
    "memset": EventCategory.SET,
    "gpu_user_annotation": EventCategory.DEVICE_ANNOTATION,
    "cuda_sync": EventCategory.DEVICE_ANNOTATION,
    "cuda_event": EventCategory.DEVICE_ANNOTATION,
    "graph_event_node": EventCategory.DEVICE_ANNOTATION,
    "graph_host_node": EventCategory.DEVICE_ANNOTATION,
    "xpu_sync": EventCategory.DEVICE_ANNOTATION,
    "cuda_profiler_range": EventCategory.DEVICE_ANNOTATION,
    "mtia_insight": EventCategory.DEVICE_ANNOTATION,
    "xpu_scope_profiler": EventCategory.DEVICE_ANNOTATION,
    "collective_comm": EventCategory.DEVICE_ANNOTATION,
    "overhead": EventCategory.OVERHEAD,
    "trace": EventCategory.SPAN,
}
"""Lower-case category to kind; torch 1.8 to 1.10 wrote `Operator`, `Runtime`, `Kernel`, ..."""

OLD_SPELLINGS = ("Operator", "Runtime", "Kernel", "Memcpy", "Memset", "Trace")
"""Categories that are written so most often, of those in another case."""

CUDA_SYNC_CATEGORY = "cuda_sync"

INSTANT_CATEGORY = "cpu_instant_event"
"""Category of the allocators' events."""

FORWARD_BACKWARD_FLOWS = frozenset({"fwdbwd", "forward_backward", "fwd_bwd"})
LAUNCH_FLOWS = frozenset({"ac2g", "async_cpu_to_gpu", "async"})
"""Arrows from launches to device events, which are joined by their numbers."""

_ANNOTATION_PREFIXES = ("ProfilerStep#", "Optimizer.", "enumerate(Data")


def is_annotation_of_old(name: str) -> bool:
    """Whether a name is an annotation's, in files that write annotations as operators."""
    return name.startswith(_ANNOTATION_PREFIXES) or name == "DistributedDataParallel.forward"
