"""What the own work of a call of the runtime is, by its name and by what it did."""

from __future__ import annotations

import re

import numpy as np

from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.analysis.host.runtime_calls import Call
from tb_hookview.arrays.joins import unique_inverse
from tb_hookview.arrays.types import Int, TreeRow

WORK = (
    *("launch", "load", "allocate", "synchronize", "copy", "set", "order", "create", "query"),
    "other",
)
"""Launching; loading the code of kernels; allocating or freeing; returning from a wait; preparing
and staging a copy; setting memory; recording events and ordering streams; creating contexts,
streams, events and graphs; asking for properties or progress; what no name tells."""

_BY_CALL = {
    Call.WAIT: "synchronize",
    Call.COPY: "copy",
    Call.ASYNC_COPY: "copy",
    Call.ALLOCATE: "allocate",
    Call.DEVICE_WAIT: "order",
    Call.LOAD: "load",
}
_BY_NAME = tuple(
    (work, re.compile(pattern))
    for work, pattern in (
        ("set", r"[Mm]emset|[Mm]emFill|MemoryFill"),
        ("query", r"Query|Get[A-Z]|Is[A-Z]|Occupancy|Attribute|Peek|Elapsed"),
        ("create", r"Create|Destroy|Instantiate|Init|Capture|GraphAdd|ExecUpdate|PeerAccess"),
        (
            "launch",
            r"[Ll]aunch|enqueueCommand|Graph\w*Upload|submit|executor|^gif_",
        ),  # last: MTIA's
        ("order", r"EventRecord|recordEvent|Signal|Barrier|WaitValue|WriteValue"),
    )
)


def work_of(name: str, call: Call) -> str:
    """Own work of a call of this name."""
    if call in _BY_CALL:
        return _BY_CALL[call]
    return next((work for work, pattern in _BY_NAME if pattern.search(name)), "other")


def call_work(host: HostRows, call: Int, loads: TreeRow, row: TreeRow) -> Int:
    """Own work of calls, as indices into `WORK`.

    Args:
        host: the host's rows.
        call: `Call` of each row of the call tree.
        loads: calls that loaded the code of kernels, whatever their names.
        row: the calls asked for.
    """
    names, place = unique_inverse(host.string[row] * len(Call) + call[row])
    works = [
        WORK.index(work_of(host.trace.strings[name // len(Call)], Call(name % len(Call))))
        for name in names.tolist()
    ]
    found = np.array(works, np.int64)[place]
    loading = np.zeros(len(host), bool)
    loading[loads] = True
    found[loading[row]] = WORK.index("load")
    return np.asarray(found)
