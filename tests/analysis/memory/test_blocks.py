"""Blocks, live bytes and peaks, against plain loops over the events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import grid
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_hookview.analysis.memory.blocks import AllocatorEvents, find_blocks
from tb_hookview.analysis.memory.live import LiveBytes, MemoryClass
from tb_hookview.analysis.memory_use import peaks_within
from tb_hookview.loading import analyze, load

CHANGES = st.lists(
    st.tuples(st.integers(0, 1), st.integers(1, 4), st.integers(-9, 9).filter(bool)), max_size=40
)


def events_of(changes: list[tuple[int, int, int]], before: int = 100) -> AllocatorEvents:
    """Events in the order given, with totals as an allocator counts them."""
    ordered = sorted(changes, key=lambda change: change[0])
    device, address, amount = np.array(ordered, np.int64).reshape(-1, 3).T
    total = np.concatenate([np.cumsum(amount[device == d]) + before for d in (0, 1)])
    m = len(device)
    return AllocatorEvents(
        devices=("cuda:0", "cuda:1"),
        first=np.searchsorted(device, [0, 1, 2]),
        device=device,
        source=np.arange(m),
        time=np.arange(m),
        amount=amount,
        allocated=total,
        reserved=total + 7,
        address=address,
        row=np.full(m, -1),
    )


def slow_blocks(events: AllocatorEvents) -> list[tuple[int, int, int]]:
    """Birth, death and size of each block, by first event."""
    open_blocks: dict[tuple[int, int], int] = {}
    found: dict[int, list[int]] = {}
    for at in range(len(events)):
        key = int(events.device[at]), int(events.address[at])
        amount = int(events.amount[at])
        if amount > 0:
            open_blocks[key] = at
            found[at] = [at, -1, amount]
        elif key in open_blocks:
            found[open_blocks.pop(key)][1] = at
        else:
            found[at] = [-1, at, -amount]
    return [(b, d, s) for _, (b, d, s) in sorted(found.items())]


@given(CHANGES)
def test_blocks_are_those_of_a_plain_loop(changes: list[tuple[int, int, int]]) -> None:
    events = events_of(changes)
    blocks = find_blocks(events)
    found = zip(*(c.tolist() for c in (blocks.birth, blocks.death, blocks.size)), strict=True)
    assert list(found) == slow_blocks(events)


@given(CHANGES, st.data())
def test_live_bytes_are_those_of_a_plain_loop_and_sum_to_the_total(
    changes: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    events = events_of(changes)
    blocks = find_blocks(events)
    kind = np.array([data.draw(st.integers(1, 6)) for _ in range(len(blocks))], np.int64)
    live = LiveBytes(events, blocks, kind, (3, 0))
    every = np.arange(len(events))
    assert np.array_equal(sum(live.of(each, every) for each in MemoryClass), events.allocated)
    slow = slow_blocks(events)
    for each in (MemoryClass.GRADIENT, MemoryClass.TEMPORARY):
        for at in range(len(events)):
            mine = [
                size
                for (birth, death, size), k in zip(slow, kind.tolist(), strict=True)
                if k == each and 0 <= birth <= at and not 0 <= death <= at
                and events.device[birth] == events.device[at]
            ]  # fmt: skip
            assert live.of(each, every)[at] == sum(mine)
            assert live.of(each, np.array([at, 0, at]))[[0, 2]].tolist() == [sum(mine)] * 2


@given(CHANGES, st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=4))
def test_peaks_are_those_of_a_plain_loop(
    changes: list[tuple[int, int, int]], spans: list[tuple[int, int]]
) -> None:
    events = events_of(changes)
    windows = np.array([sorted(span) for span in spans], np.int64).reshape(-1, 2)
    for device in (0, 1):
        mine = [at for at in range(len(events)) if events.device[at] == device]
        for (begin, end), found in zip(
            windows.tolist(), peaks_within(events, device, windows), strict=True
        ):
            inside = [at for at in mine if begin <= events.time[at] <= end]
            earlier = [at for at in mine if events.time[at] < begin][-1:]
            if not inside:
                assert found == -1
            else:
                top = max(events.allocated[at] for at in earlier + inside)
                assert found in earlier + inside
                assert events.allocated[found] == top


def test_a_trace_without_memory_has_none(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text('{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "ts": 1}]}')
    assert load(path).memory is None


@pytest.mark.parametrize(
    ("changes", "allocated"),
    [
        (
            [(1, 24, 24), (7, 100, 0), (2, 8, 32), (7, -100, 0), (9, 50, 0), (2, -8, 24)],
            [24, 124, 132, 32, 82, 74],
        ),
        # 100 and 50 were mapped before, or on a thread that is not watched.
        (
            [(7, -100, 0), (1, 24, 24), (2, 8, 32), (9, -50, 0), (2, -8, 24)],
            [50, 74, 82, 32, 24],
        ),
        # 50 were allocated on a thread that is not watched.
        ([(1, 24, 24), (2, 8, 82), (9, -50, 32), (2, -8, 24)], [24, 82, 32, 24]),
        # The allocator's own: its total falls to 0 and grows again from there.
        ([(1, 24, 54), (1, -24, 30), (3, -30, 0), (2, 8, 8)], [54, 30, 0, 8]),
    ],
)
def test_what_a_loaders_workers_share_is_added_to_the_allocators_total(
    tmp_path: Path, changes: list[tuple[int, int, int]], allocated: list[int]
) -> None:
    """The total of such an event is 0: no allocator counts what is mapped."""
    events = [
        {
            "ph": "i",
            "cat": "cpu_instant_event",
            "name": "[memory]",
            "s": "t",
            "pid": 1,
            "tid": 1,
            "ts": 10 * at,
            "args": {
                "Device Type": 0,
                "Device Id": -1,
                "Addr": address,
                "Bytes": amount,
                "Total Allocated": total,
                "Total Reserved": 0,
            },
        }
        for at, (address, amount, total) in enumerate(changes)
    ]
    work = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 90}
    memory = load(grid.write(tmp_path / "t.json", [work, *events])).memory
    assert memory is not None
    assert memory.events.allocated.tolist() == allocated
    at = np.arange(len(memory.events))
    assert all((memory.live.of(kind, at) >= 0).all() for kind in MemoryClass)


def test_what_a_call_in_another_one_of_its_name_allocates_counts_once(tmp_path: Path) -> None:
    """As autocast calls `aten::linear` again within itself, with a cast in between."""
    spans = [("aten::linear", 0, 90), ("aten::to", 5, 70), ("aten::linear", 10, 50)]
    events: list[dict[str, Any]] = [
        {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": at, "dur": us}
        for name, at, us in spans
    ]
    args = {"Device Type": 0, "Device Id": -1, "Addr": 7, "Bytes": 64, "Total Allocated": 64}
    memory = {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "s": "t", "ts": 20}
    events.append({**memory, "pid": 1, "tid": 1, "args": args})
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"traceEvents": events}))
    rows = {row.operator: row for row in analyze(path).data.memory_operators}
    linear, cast = rows["aten::linear"], rows["aten::to"]
    assert (linear.allocated_bytes, linear.allocations, linear.calls) == (64, 1, 2)
    assert (cast.allocated_bytes, cast.self_allocated_bytes, cast.calls) == (64, 0, 1)
