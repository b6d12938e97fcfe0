"""Drawn programs of ranks, played step by step, and their traces."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from random import Random
from typing import Any, NamedTuple


class Step(NamedTuple):
    """What a rank does in a step: one collective after each part, all awaited at the end.

    main  [a][b]begin 0[a][b]begin 1 ... wait 0, wait 1 [a]
    """

    a: tuple[float, ...]
    b: tuple[float, ...]
    at_once: bool
    """Whether each collective is awaited where it begins."""
    last: float
    """In `a`, after all are awaited."""


Program = list[list[Step]]
"""Steps of each rank, milliseconds."""

TRANSFER, INSIDE = 1.0, 0.001
"""Of a collective; between the ends of a module and of the operator in it."""


def drawn(seed: int, ranks: int, steps: int) -> Program:
    """Draw what ranks do; all spend the same time in `b`."""
    random = Random(seed)
    parts, at_once = random.randint(1, 4), random.random() < 0.5

    def step() -> Step:
        a = tuple(random.uniform(1.0, 4.0) for _ in range(parts))
        return Step(a, (2.0,) * parts, at_once, random.uniform(0.5, 2.0))

    return [[step() for _ in range(steps)] for _ in range(ranks)]


def slowed(program: Program, rank: int, by: float, steps: range) -> Program:
    """The same, with one rank longer in the last `b` of some steps."""
    changed = [list(of_rank) for of_rank in program]
    for step in steps:
        b = changed[rank][step].b
        changed[rank][step] = changed[rank][step]._replace(b=(*b[:-1], b[-1] + by))
    return changed


class Played(NamedTuple):
    """When each rank did what, milliseconds."""

    rows: list[list[tuple[str, float, float]]]
    """Name, start and end of the rows of each rank."""
    end: float


def played(program: Program) -> Played:
    """Play a program: one collective at a time, all ranks in turn."""
    time = [0.0] * len(program)
    rows: list[list[tuple[str, float, float]]] = [[] for _ in program]
    for number, steps in enumerate(zip(*program, strict=True)):
        begun, ends = list(time), []
        for part in range(len(steps[0].a)):
            starts = []
            for rank, step in enumerate(steps):
                for name, length in (("a", step.a[part]), ("b", step.b[part])):
                    rows[rank].append((name, time[rank], time[rank] + length))
                    time[rank] += length
                starts.append(time[rank])
            ends.append(max(starts) + TRANSFER)
            for rank, start in enumerate(starts):
                rows[rank].append(("gloo:all_reduce", start, ends[-1]))
                if steps[rank].at_once:
                    time[rank] = ends[-1]
        for rank, step in enumerate(steps):
            time[rank] = max(time[rank], *ends)
            rows[rank].append(("a", time[rank], time[rank] + step.last))
            time[rank] += step.last
            rows[rank].append((f"ProfilerStep#{number}", begun[rank], time[rank]))
    return Played(rows, max(time))


def write(folder: Path, program: Program) -> Path:
    """Write the traces of a program: gloo's rows on threads of their own."""
    folder.mkdir()
    for rank, rows in enumerate(played(program).rows):
        events: list[dict[str, Any]] = []
        for number, (name, start, end) in enumerate(rows):
            thread = 100 + number if name.startswith("gloo") else 1
            if name in ("a", "b"):
                events.append(_row(f"{name} (Linear) forward ~hv1", "cpu_op", 1, start, end))
                events.append(_row("aten::mm", "cpu_op", 1, start + INSIDE, end - INSIDE))
            else:
                events.append(_row(name, "user_annotation", thread, start, end))
        info = {"rank": rank, "world_size": len(program)}
        text = json.dumps({"distributedInfo": info, "traceEvents": events})
        (folder / f"rank{rank}.1.pt.trace.json.gz").write_bytes(gzip.compress(text.encode()))
    return folder


def _row(name: str, category: str, thread: int, start: float, end: float) -> dict[str, Any]:
    times = {"ts": 1e6 + start * 1000, "dur": (end - start) * 1000}
    return {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": thread, **times, "args": {}}
