"""How many traces are read at once."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tb_hookview.ranks.executors import PER_BYTE, PROCESS_BYTES, USED, at_once
from tb_hookview.trace.source.file import TraceFile, trace_file
from tb_hookview.workers.limits import available_bytes

MB = 1 << 20


def need(*sizes: int) -> int:
    """Free memory that is just enough for traces of some bytes."""
    return int(sum(PROCESS_BYTES + PER_BYTE * size for size in sizes) / USED) + 1


@pytest.fixture
def traces(tmp_path: Path) -> list[TraceFile]:
    sizes = {"small": 1 * MB, "large": 40 * MB, "middle": 10 * MB}
    for name, size in sizes.items():
        (tmp_path / f"{name}.json.gz").write_bytes(gzip.compress(bytes(size), 1))
    return [trace_file(tmp_path / f"{name}.json.gz") for name in sizes]


@pytest.mark.parametrize(
    ("free", "count"),
    [
        (0, 1),
        (need(40 * MB), 1),
        (need(40 * MB, 10 * MB) - 2 * MB, 1),
        (need(40 * MB, 10 * MB), 2),
        (need(40 * MB, 10 * MB, 1 * MB), 3),
        (1 << 50, 3),
    ],
)
def test_as_many_as_fit_whichever_come_together(
    traces: list[TraceFile], free: int, count: int
) -> None:
    assert at_once(traces, 3, free) == count


def test_no_more_than_asked_for(traces: list[TraceFile]) -> None:
    assert at_once(traces, 2, 1 << 50) == 2


def test_what_is_not_there_counts_as_small(traces: list[TraceFile]) -> None:
    assert at_once([*traces, trace_file("/nowhere/x.json.gz")], 4, 1 << 50) == 4


def test_this_machine_has_memory() -> None:
    """Its free memory is some part of what the system says it has."""
    free = available_bytes()
    assert free is None or free > MB
