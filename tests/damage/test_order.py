"""Events in any order give the same report; every recorded trace is shuffled in `../invariants`.

Only what the order decides by itself is left out: which of two names of a thread holds, the order
of rows that rank alike, and ids, which number what the file holds.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import shared_traces
from damage.real import raw
from damage.rows import Rows, end_of, reordered
from damage.unordered import unordered

from tb_hookview.loading import analyze

LARGE = pytest.param("hta_a100_nccl_training", marks=pytest.mark.slow)
NAMES = (
    LARGE,
    "hta_mi250_minitoy_training",
    "hta_a100_event_sync",
    "hta_cpu_only",
    "tracelens_h100_bert_small",
    "tracelens_mi300_compile_triton",
)


ORDERS: dict[str, Callable[[Rows], None]] = {
    "reversed": lambda events: events.reverse(),
    "by end": lambda events: events.sort(key=end_of),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("order", ORDERS)
def test_the_report_does_not_depend_on_the_order(tmp_path: Path, name: str, order: str) -> None:
    path = shared_traces.shared_trace(name)
    moved = tmp_path / "moved.pt.trace.json"
    moved.write_bytes(reordered(raw(path), ORDERS[order]))
    assert unordered(analyze(moved)) == unordered(analyze(path))


@pytest.mark.parametrize("name", ["hta_mi250_minitoy_training", LARGE])
def test_of_two_windows_in_one_file_each_counts(tmp_path: Path, name: str) -> None:
    """All numbers begin again in the second one: correlations, sequence numbers, ids."""
    path = shared_traces.shared_trace(name)
    trace = json.loads(gzip.decompress(path.read_bytes()))
    later = [
        {**event, "ts": float(event["ts"]) + 60e6}
        for event in trace["traceEvents"]
        if event["ph"] == "X" and "ts" in event
    ]
    both = tmp_path / "both.pt.trace.json"
    both.write_text(json.dumps({**trace, "traceEvents": [*trace["traceEvents"], *later]}))
    once, twice = analyze(path).data.totals, analyze(both).data.totals
    assert once.backward_device_us
    assert twice.backward_device_us == pytest.approx(2 * once.backward_device_us, rel=1e-6)
    assert twice.forward_device_us == pytest.approx(2 * (once.forward_device_us or 0), rel=1e-6)
    assert twice.sync_count == 2 * once.sync_count
