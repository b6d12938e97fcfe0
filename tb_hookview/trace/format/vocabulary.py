"""Event categories and arguments of every era of the trace format, and which are wanted."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, IntEnum
from typing import NamedTuple


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
    **dict.fromkeys(("cpu_op", "operator", "hpu_op"), EventCategory.OPERATOR),
    "user_annotation": EventCategory.ANNOTATION,
    PYTHON_CATEGORY: EventCategory.PYTHON,
    **dict.fromkeys(("runtime", "mtia_runtime", "glow_runtime"), EventCategory.RUNTIME),
    **{
        f"{library}_{level}": EventCategory.RUNTIME
        for library in ("cuda", "xpu", "privateuse1")
        for level in ("runtime", "driver")
    },
    **dict.fromkeys(("kernel", "mtia_ccp_events"), EventCategory.KERNEL),
    **dict.fromkeys(("gpu_memcpy", "memcpy"), EventCategory.COPY),
    **dict.fromkeys(("gpu_memset", "memset"), EventCategory.SET),
    **dict.fromkeys(
        (
            *("gpu_user_annotation", "cuda_sync", "cuda_event", "graph_event_node"),
            *("graph_host_node", "xpu_sync", "cuda_profiler_range", "mtia_insight"),
            *("xpu_scope_profiler", "collective_comm"),
        ),
        EventCategory.DEVICE_ANNOTATION,
    ),
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


# The tables of `args` keys that become columns.
#
# To read another argument, add a line here.


_DEVICE = frozenset({EventCategory.KERNEL, EventCategory.COPY, EventCategory.SET})
_OPERATOR = frozenset({EventCategory.OPERATOR, EventCategory.ANNOTATION})
_MOVES = frozenset({EventCategory.COPY, EventCategory.SET})
_LINKED = frozenset({EventCategory.RUNTIME}) | _DEVICE


class Form(Enum):
    """Types of arguments, and so of their columns."""

    WHOLE = 0
    """A whole number: int64."""
    MEASURED = 1
    """A number, and not always one in the file: float64, NaN for none."""
    TEXT = 2
    """Any JSON, as text: int32, an index into `Trace.texts`, 0 for none."""


class Argument(NamedTuple):
    """One column made of an argument.

    Every spelling and every new set of kinds makes every file slower to read.

    Attributes:
        column: attribute of `Events`.
        keys: spellings in the file, newest first; the first present one counts.
        kinds: kinds of event that have it; other rows hold the value for none.
        missing: value for none among whole numbers.
        form: what it is.
    """

    column: str
    keys: tuple[str, ...]
    kinds: frozenset[EventCategory]
    missing: int = -1
    form: Form = Form.WHOLE


ARGUMENTS: tuple[Argument, ...] = (
    Argument("external", ("External id", "external id"), _LINKED | _OPERATOR),
    Argument("sequence", ("Sequence number",), _OPERATOR),
    Argument("forward_thread", ("Fwd thread id",), _OPERATOR, missing=0),
    Argument("concrete", ("Concrete Inputs",), _OPERATOR, form=Form.TEXT),
    Argument("types", ("Input type",), _OPERATOR, form=Form.TEXT),
    Argument("shapes", ("Input Dims",), _OPERATOR, form=Form.TEXT),
    Argument("device", ("device",), _DEVICE),
    Argument("correlation", ("correlation",), _LINKED),
    Argument("bytes", ("bytes",), _MOVES),
    Argument("graph", ("graph id",), _DEVICE, missing=0),
    Argument("graph_node", ("graph node id",), _DEVICE, missing=0),
    Argument("registers", ("registers per thread",), _DEVICE),
    Argument("shared_memory", ("shared memory",), _DEVICE),
    Argument("blocks_per_sm", ("blocks per SM",), _DEVICE, form=Form.MEASURED),
    Argument("grid", ("grid",), _DEVICE, form=Form.TEXT),
    Argument("block", ("block",), _DEVICE, form=Form.TEXT),
    Argument("occupancy", ("est. achieved occupancy %",), _DEVICE, form=Form.MEASURED),
)
"""Arguments in the order of torch's writer.

Keys are searched from the one found last."""

MEMORY: dict[str, str] = {
    "device_type": "Device Type",
    "device_index": "Device Id",
    "amount": "Bytes",
    "allocated": "Total Allocated",
    "reserved": "Total Reserved",
    "address": "Addr",
}
"""Columns of `Memory`, and the arguments of a `[memory]` event that they are made of.

These and the next are in few events of few traces. Only pieces that hold such events are decoded
again for them: to search every event for these keys would make all files slower to read.
"""

COLLECTIVE: dict[str, str] = {
    "sent": "In msg nelems",
    "received": "Out msg nelems",
    "group_size": "Group size",
    "collective_number": "Seq",
    "source_rank": "Src Rank",
    "target_rank": "Dst Rank",
    "collective": "Collective name",
    "dtype": "dtype",
    "group": "Process Group Name",
    "group_description": "Process Group Description",
    "group_ranks": "Process Group Ranks",
}
"""Columns of `Collectives`, and the arguments of a `record_param_comms` they are made of."""

CUDA_SYNC: dict[str, str] = {
    "sync_kind": "cuda_sync_kind",
    "stream": "stream",
    "wait_on_stream": "wait_on_stream",
    "record_correlation": "wait_on_cuda_event_record_corr_id",
    "cuda_event": "wait_on_cuda_event_id",
    "correlation": "correlation",
    "device": "device",
}
"""Columns of `CudaSyncs`, and the arguments of a `cuda_sync` row that they are made of."""

MOVED: dict[str, str] = {
    "copy_kind": "copy kind",
    "source": "src kind",
    "target": "dst kind",
    "memory": "memory kind",
}
"""Arguments of a copy or a set whose name does not say what it moves (`format/moves.py`)."""


# What of a trace's events is read: who needs little of them reads them sooner.


_COLUMNS = frozenset(argument.column for argument in ARGUMENTS)


class Wanted(NamedTuple):
    """What is read of a trace's events; by default everything.

    Every event is decoded and counted, whatever is wanted; notices on rows count those that are
    read. The first to begin and the last to end of all rows are read in any case.
    """

    columns: frozenset[str] = _COLUMNS
    """Columns of `ARGUMENTS`; others are of shape (0,), so that no value of them passes for one."""
    texts_of: Callable[[str], bool] | None = None
    """Whether rows of a name have their arguments of texts read; None for all rows."""
    functions: Callable[[str], bool] | None = None
    """Whether rows of Python functions of a name are read; None for all rows."""
    details: bool = True
    """Whether `Trace.memory`, `out_of_memory` and `cuda_syncs` are read, else they are empty."""

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """The arguments of its columns, in the order of `ARGUMENTS`."""
        return tuple(argument for argument in ARGUMENTS if argument.column in self.columns)


EVERYTHING = Wanted()
