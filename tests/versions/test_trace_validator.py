"""Our checks of a trace against torch's own (`torch.profiler._trace_validator`), where both look.

docs/explanation/reliability.md says in what they differ.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from invariants.analysis import CHECKED_BY_TORCH

from tb_hookview.loading import load

validator = pytest.importorskip(
    "torch.profiler._trace_validator", reason="this torch has no trace validator"
)


def by_torch(path: Path) -> dict[str, int]:
    _, violations = validator.validate_trace(str(path))
    return dict(Counter(CHECKED_BY_TORCH[found.rule_name] for found in violations))


def by_us(path: Path) -> dict[str, int]:
    found = {fault.code: fault.count for fault in load(path).faults}
    return {code: count for code, count in found.items() if code in CHECKED_BY_TORCH.values()}


def event(category: str, name: str, start: float, length: float, **args: Any) -> dict[str, Any]:
    place = {"pid": 1, "tid": 1, "ts": start, "dur": length, "cat": category, "name": name}
    return {"ph": "X", **place, "args": args}


ID, RECORD = "External id", "wait_on_cuda_event_record_corr_id"
NODE = "autograd::engine::evaluate_function: "
NUMBERED = {"Sequence number": 3, "Fwd thread id": 1}
WAIT = {"cuda_sync_kind": "Stream Wait Event"}


@pytest.mark.parametrize(
    ("code", "events"),
    [
        (
            "before-launch",
            [
                event("cuda_runtime", "cudaLaunchKernel", 20, 5, correlation=7, **{ID: 1}),
                event("kernel", "k", 10, 5, correlation=7, device=0, **{ID: 1}),
            ],
        ),
        ("silent-collective", [event("cpu_op", "record_param_comms", 1, 2, dtype="Float")]),
        (
            "later-record",
            [
                event("cuda_sync", "Stream Wait Event", 5, 1, **WAIT, **{RECORD: 4}),
                event("cuda_runtime", "cudaEventRecord", 9, 1, correlation=4),
            ],
        ),
        (
            "shared-number",
            [
                event("cpu_op", f"{NODE}AddBackward0", 1, 2, **NUMBERED),
                event("cpu_op", f"{NODE}MulBackward0", 4, 2, **NUMBERED),
            ],
        ),
    ],
)
def test_what_speaks_against_a_trace(
    tmp_path: Path, code: str, events: list[dict[str, Any]]
) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"traceEvents": events}))
    assert by_us(path) == by_torch(path) == {code: 1}
