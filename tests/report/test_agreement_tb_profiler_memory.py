"""Agreement with torch_tb_profiler's memory view, whose parser runs here."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import pytest
import shared_traces
from torch_tb_profiler.profiler.data import RunProfileData

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.selection import select
from tb_hookview.loading import load
from tb_hookview.report.tables.memory import memory_operator_rows

WITHOUT_ADDRESSES = (
    "kineto_resnet50_num_workers_0/worker0.1623143089861",
    "kineto_resnet50_num_workers_4/worker0.1623212756351",
)
WITH_ADDRESSES = ("hta_v100_df_index_resolver", "tracelens_h100_owlv2", "tracelens_h100_qwen")

OTHER_CALLS = "tracelens_h100_owlv2"
"""Their tree has 20 calls of aten::empty fewer than rows of the trace, and 15 of aten::reshape."""

pytestmark = pytest.mark.filterwarnings("ignore:The copy keyword is deprecated")


@cache
def ours(sample: str) -> Analysis:
    return load(shared_traces.shared_trace(sample))


@cache
def theirs(sample: str) -> Any:
    return RunProfileData.parse("worker", None, str(shared_traces.shared_trace(sample)), None)


def device_of(name: str) -> str:
    """Our name of a device of theirs: `CPU`, `GPU0`."""
    return "cpu" if name == "CPU" else f"cuda:{name.removeprefix('GPU')}"


@pytest.mark.parametrize("sample", [*WITHOUT_ADDRESSES, *WITH_ADDRESSES])
def test_statistics_of_operators(sample: str) -> None:
    parsed = theirs(sample)
    wanted = {
        (device_of(device), operator): values
        for device, rows in parsed.memory_snapshot.get_memory_statistics(parsed.tid2tree).items()
        for operator, values in rows.items()
    }
    found = {
        (row.device, row.operator): [
            row.self_increase_bytes,
            row.self_allocated_bytes,
            row.self_allocations,
            row.increase_bytes,
            row.allocated_bytes,
            row.allocations,
            row.calls,
        ]
        for row in memory_operator_rows(select(ours(sample), None))
    }
    if sample == OTHER_CALLS:
        found, wanted = ({k: v[:-1] for k, v in each.items()} for each in (found, wanted))
    assert found == wanted


@pytest.mark.parametrize("sample", WITH_ADDRESSES)
def test_pairs_of_allocation_and_release(sample: str) -> None:
    """Size, times and operator of each pair, and the times of those without a partner."""
    records = theirs(sample).memory_snapshot.memory_records
    open_blocks: dict[int, Any] = {}
    wanted: Counter[Any] = Counter()
    for record in records:  # as `RunProfile.get_memory_events` pairs them
        if record.is_allocation:
            open_blocks[record.addr] = record
        elif record.addr in open_blocks:
            begin = open_blocks.pop(record.addr)
            wanted[begin.op_name, -record.bytes, _ns(begin.ts), _ns(record.ts)] += 1
        else:
            wanted[None, -record.bytes, None, _ns(record.ts)] += 1
    wanted.update((r.op_name, r.bytes, _ns(r.ts), None) for r in open_blocks.values())
    memory = ours(sample).memory
    assert memory
    found: Counter[Any] = Counter()
    blocks, events = memory.blocks, memory.events
    names = _operators(ours(sample), memory.lives.birth_row.tolist())
    for name, birth, death, size in zip(
        names, blocks.birth.tolist(), blocks.death.tolist(), blocks.size.tolist(), strict=True
    ):
        begin, end = (int(events.time[at]) if at >= 0 else None for at in (birth, death))
        found[name, size, begin, end] += 1
    assert {_rounded(key): n for key, n in found.items()} == {
        _rounded(key): n for key, n in wanted.items()
    }


def _operators(analysis: Analysis, rows: list[int]) -> list[str | None]:
    """Operator whose row is the innermost of all, as theirs count it; none for another row."""
    named = analysis.operators.named
    return [analysis.host.name(row) if row >= 0 and named[row] else None for row in rows]


def _ns(time: float) -> int:
    return round(time * 1000)


def _rounded(key: Any) -> Any:
    """Times to the microsecond: theirs are floats of microseconds since 1970."""
    name, size, begin, end = key
    return name, size, *(None if t is None else round(t / 1000) for t in (begin, end))
