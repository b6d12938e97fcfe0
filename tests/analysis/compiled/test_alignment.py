"""Alignment and sharing against plain loops, on drawn-by-chance graphs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import grid
import numpy as np
import pytest
from analysis.compiled.drawn import MODULES, NAMES, graph, reported

from tb_hookview import markers
from tb_hookview.analysis.compiled.graphs import row_name
from tb_hookview.loading import load

EXTERN = ["extern_kernels.mm", "extern_kernels.addmm", "aten.sort"]
GENERATED = ["cpp_fused_a_0", "cpp_fused_b_1", "cpp_fused_c_2"]


def drawn(seed: int) -> tuple[list[Any], list[tuple[str, int, int]], int]:
    """Calls of a graph, its rows (name, start, end in ns) and its length."""
    random = np.random.default_rng(seed)
    calls, rows, now = [], [], int(random.integers(0, 3000))
    for _ in range(int(random.integers(0, 12))):
        extern = random.random() < 0.6
        name = str(random.choice(EXTERN if extern else GENERATED))
        parts = [
            [
                int(random.integers(-1, 4)),
                int(random.random() < 0.2),
                int(random.integers(0, 4)),
                size,
            ]
            for size in random.integers(0, 3, int(random.integers(0, 4))).tolist()
        ]
        calls.append([name, int(extern), parts])
        if extern and random.random() < 0.97:
            length = int(random.integers(1, 9000))
            rows.append((row_name(name), now, now + length))
            now += length
        now += int(random.integers(0, 5000))
        if random.random() < 0.05:
            rows.append(("aten::fill_", now, now + 40))
            now += 40
    return calls, rows, now + int(random.integers(1, 4000))


def paired_slowly(
    calls: list[Any], rows: list[tuple[str, int, int]], length: int
) -> list[int | None] | None:
    """Call of each row by the definition; None where the graph stays whole."""
    names = [row_name(name) for name, *_ in calls]
    shown = [name for name, *_ in rows]
    pairs: list[int | None] = []
    for place, name in enumerate(shown):
        places = [number for number, each in enumerate(names) if each == name]
        known = len(places) == shown.count(name)
        pairs.append(places[shown[:place].count(name)] if known else None)
    known_pairs = [pair for pair in pairs if pair is not None]
    lost = sum(b - a for (_, a, b), pair in zip(rows, pairs, strict=True) if pair is None)
    return None if known_pairs != sorted(known_pairs) or lost > 0.05 * length else pairs


def slowly(calls: list[Any], rows: list[tuple[str, int, int]], length: int) -> dict[int, float]:
    """Time of each path by the definition: rows to calls, gaps to silent calls, by weight."""
    pairs = paired_slowly(calls, rows, length)
    if pairs is None:
        return {}
    shown = {name for name, *_ in rows}
    times: dict[int, float] = {}

    def give(time: int, numbers: list[int]) -> None:
        parts = [part for number in numbers for part in weighted(calls[number][2])]
        for path, weight in parts:
            share = time * weight / sum(weight for _, weight in parts)
            times[path] = times.get(path, 0) + share

    def silent(first: int, end: int) -> list[int]:
        return [n for n in range(first, end) if row_name(calls[n][0]) not in shown]

    gap, reached, before = 0, 0, -1
    for (_, start, end), pair in zip(rows, pairs, strict=True):
        gap, reached = gap + start - reached, end
        if pair is not None:
            give(gap, silent(before + 1, pair))
            give(end - start, [pair])
            gap, before = 0, pair
    give(gap + length - reached, silent(before + 1, len(calls)))
    times.pop(-1, None)
    return times


def weighted(parts: list[list[int]]) -> list[tuple[int, int]]:
    """Path and weight: bytes, else nodes, else alike; the region where there is nobody."""
    if not parts:
        return [(-1, 1)]
    for column in (3, 2):
        if any(part[column] for part in parts):
            return [(part[0], part[column]) for part in parts]
    return [(part[0], 1) for part in parts]


@pytest.mark.parametrize("seed", range(60))
def test_host_time_as_by_plain_loops(tmp_path: Path, seed: int) -> None:
    calls, rows, length = drawn(seed)
    traced = [
        {"name": name, "ts": 5000 + start / 1000, "dur": (end - start) / 1000}
        for name, start, end in [
            (NAMES["root"], -2000, length + 2000),
            (NAMES["region"], -1000, length + 1000),
            (NAMES["fw"], 0, length),
            *rows,
        ]
    ]
    for event in traced:
        event.update({"ph": "X", "cat": "cpu_op", "pid": 1, "tid": 1, "args": {}})
    listed = [{"path": path, "class": name} for path, name in MODULES]
    path = grid.write(
        tmp_path / "t.json",
        json.loads(json.dumps(traced)),
        **{
            markers.MANIFEST_KEY: {"version": 1, "roots": [""], "modules": listed},
            markers.COMPILED_KEY: {"version": 1, "graphs": [graph(*calls)], "missing": []},
        },
    )
    data = reported(load(path))
    expected = slowly(calls, rows, length)
    own = {row.path: row.forward.self_host_us or 0.0 for row in data.modules}
    for number, (module, _) in enumerate(MODULES[1:], 1):
        assert own[module] * 1000 == pytest.approx(expected.get(number, 0), abs=len(calls) + 1)
    assert sum(own.values()) * 1000 == pytest.approx(length + 4000), "nothing is lost or made up"
