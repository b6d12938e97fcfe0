"""The smallest trace with a backward pass: one operator and the autograd node it made."""

from __future__ import annotations

import json
from pathlib import Path

_ROWS = (
    ("aten::mul", 100, 40, 1),
    ("autograd::engine::evaluate_function: MulBackward0", 200, 60, 2),
    ("MulBackward0", 210, 40, 2),
)


def write_host_trace(path: Path) -> None:
    """Write it: 60 us of host time in the node, no device."""
    events = [
        {
            "ph": "X",
            "cat": "cpu_op",
            "name": name,
            "pid": 1,
            "tid": thread,
            "ts": start,
            "dur": length,
            "args": {"Sequence number": 7, "Fwd thread id": 0},
        }
        for name, start, length, thread in _ROWS
    ]
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
