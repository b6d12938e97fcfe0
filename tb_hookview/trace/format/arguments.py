"""The tables of `args` keys that become columns.

To read another argument, add a line here.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from tb_hookview.trace.format.vocabulary import EventCategory

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
    "event_index": "Ev Idx",
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
