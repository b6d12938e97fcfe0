"""Categories of every era of the trace format, mapped to the kinds the analysis works with."""

from __future__ import annotations

from enum import IntEnum


class Kind(IntEnum):
    """What a complete event is, whichever vocabulary it was written in."""

    OTHER = 0
    """A category this version does not know; kept and counted."""
    OPERATOR = 1
    ANNOTATION = 2
    PYTHON = 3
    RUNTIME = 4
    """A call into the device's runtime or driver, on a host thread."""
    KERNEL = 5
    COPY = 6
    SET = 7
    DEVICE_ANNOTATION = 8
    """Device-side twin of an annotation, or a mirror of a host's synchronization; not work."""
    OVERHEAD = 9
    SPAN = 10
    """The profiler's own window."""


DEVICE_WORK = (Kind.KERNEL, Kind.COPY, Kind.SET)
"""Kinds that keep a device busy."""

CATEGORIES: dict[str, Kind] = {
    "cpu_op": Kind.OPERATOR,
    "operator": Kind.OPERATOR,
    "hpu_op": Kind.OPERATOR,
    "user_annotation": Kind.ANNOTATION,
    "python_function": Kind.PYTHON,
    "cuda_runtime": Kind.RUNTIME,
    "cuda_driver": Kind.RUNTIME,
    "runtime": Kind.RUNTIME,
    "xpu_runtime": Kind.RUNTIME,
    "xpu_driver": Kind.RUNTIME,
    "mtia_runtime": Kind.RUNTIME,
    "glow_runtime": Kind.RUNTIME,
    "privateuse1_runtime": Kind.RUNTIME,
    "privateuse1_driver": Kind.RUNTIME,
    "kernel": Kind.KERNEL,
    "mtia_ccp_events": Kind.KERNEL,
    "gpu_memcpy": Kind.COPY,
    "memcpy": Kind.COPY,
    "gpu_memset": Kind.SET,
    "memset": Kind.SET,
    "gpu_user_annotation": Kind.DEVICE_ANNOTATION,
    "cuda_sync": Kind.DEVICE_ANNOTATION,
    "cuda_event": Kind.DEVICE_ANNOTATION,
    "xpu_sync": Kind.DEVICE_ANNOTATION,
    "cuda_profiler_range": Kind.DEVICE_ANNOTATION,
    "mtia_insight": Kind.DEVICE_ANNOTATION,
    "xpu_scope_profiler": Kind.DEVICE_ANNOTATION,
    "collective_comm": Kind.DEVICE_ANNOTATION,
    "overhead": Kind.OVERHEAD,
    "trace": Kind.SPAN,
}
"""Lower-case category to kind; torch 1.8 to 1.10 wrote `Operator`, `Runtime`, `Kernel`, ..."""

FORWARD_BACKWARD_FLOWS = frozenset({"fwdbwd", "forward_backward", "fwd_bwd"})

_ANNOTATION_PREFIXES = ("ProfilerStep#", "Optimizer.", "enumerate(Data")


def is_annotation_of_old(name: str) -> bool:
    """Tell an annotation by its name, for files that put annotations among the operators."""
    return name.startswith(_ANNOTATION_PREFIXES) or name == "DistributedDataParallel.forward"
