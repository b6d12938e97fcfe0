"""Windows of recorded traces: cut at both ends, then with something missing, moved or shuffled."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

Row = dict[str, Any]

DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
CATEGORIES = (
    ("cpu_op",),
    ("python_function",),
    ("cpu_instant_event",),
    ("user_annotation", "gpu_user_annotation"),
    ("cuda_runtime", "cuda_driver"),
    ("ac2g", "async_cpu_to_gpu"),
    ("fwdbwd",),
    ("kernel",),
    DEVICE,
)
SKEW_US = 40
"""Clocks of host and device differ by a few microseconds; this is more."""


def window(text: bytes, random: Random) -> tuple[bytes, str]:
    """Draw a window of a trace.

    Returns:
        The window's text, and what was done to it.
    """
    root = json.loads(text)
    rows: list[Row] = root["traceEvents"] if isinstance(root, dict) else root
    starts = sorted(float(row["ts"]) for row in rows if row.get("ph") == "X")
    since, until = sorted(random.sample(range(len(starts)), 2)) if len(starts) > 1 else (0, 0)
    begin, end = starts[since], starts[until]
    kept = [row for row in rows if row.get("ph") == "M" or begin <= float(row["ts"]) <= end]
    done, change = random.choice(CHANGES)
    kept, detail = change(kept, random)
    said = f"{begin} to {end} us, {done}{detail}"
    return json.dumps(
        {**root, "traceEvents": kept} if isinstance(root, dict) else kept
    ).encode(), said


def _without(rows: list[Row], of: Callable[[Row], Any], random: Random) -> tuple[list[Row], str]:
    """Leave out what has one value, drawn among those there are."""
    values = sorted({repr(of(row)) for row in rows if of(row) is not None})
    if not values:
        return rows, " (none)"
    value = random.choice(values)
    return [row for row in rows if repr(of(row)) != value], f" {value}"


def _no_category(rows: list[Row], random: Random) -> tuple[list[Row], str]:
    gone = random.choice(CATEGORIES)
    kept = [row for row in rows if str(row.get("cat")).lower() not in gone]
    return kept, f" {'/'.join(gone)}"


def _of_device(row: Row, name: str) -> Any:
    return row.get("args", {}).get(name) if str(row.get("cat")).lower() in DEVICE else None


def _no_thread(rows: list[Row], random: Random) -> tuple[list[Row], str]:
    def thread(row: Row) -> Any:
        return (row.get("pid"), row.get("tid")) if row.get("ph") == "X" else None

    return _without(rows, thread, random)


def _no_device(rows: list[Row], random: Random) -> tuple[list[Row], str]:
    return _without(rows, lambda row: _of_device(row, "device"), random)


def _no_stream(rows: list[Row], random: Random) -> tuple[list[Row], str]:
    return _without(rows, lambda row: _of_device(row, "stream"), random)


def _shuffled(rows: list[Row], random: Random) -> tuple[list[Row], str]:
    random.shuffle(rows)
    return rows, ""


def _skewed(rows: list[Row], random: Random) -> tuple[list[Row], str]:
    by = random.uniform(-SKEW_US, SKEW_US)
    moved = [
        {**row, "ts": float(row["ts"]) + by} if str(row.get("cat")).lower() in DEVICE else row
        for row in rows
    ]
    return moved, f" by {by:.1f} us"


def _as_it_is(rows: list[Row], _: Random) -> tuple[list[Row], str]:
    return rows, ""


CHANGES: tuple[tuple[str, Callable[[list[Row], Random], tuple[list[Row], str]]], ...] = (
    ("nothing else", _as_it_is),
    ("nothing else", _as_it_is),
    ("without category", _no_category),
    ("without category", _no_category),
    ("without thread", _no_thread),
    ("without device", _no_device),
    ("without stream", _no_stream),
    ("shuffled", _shuffled),
    ("device's clock moved", _skewed),
)
