"""The same trace at many sizes: windows of it, and copies of it one after the other."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from subprocess import Popen
from typing import Any, NamedTuple

from common.traces import inflate

WINDOWS = (10_000, 30_000, 100_000)
"""Events that a part of the trace holds."""

COPIES = (1, 2, 4, 8, 18)
"""How many times over a trace holds the whole; the last of them holds a gigabyte of JSON."""

_AT_ONCE = 2
"""Traces that are made at the same time."""


class Made(NamedTuple):
    """A trace file of some size."""

    path: Path
    copies: int
    """0 where it is a part of the trace."""


def make(source: Path, folder: Path, windows: Sequence[int], copies: Sequence[int]) -> list[Made]:
    """Write the traces, smallest first. All of them go through the same program.

    Raises:
        SystemExit: one of them cannot be written.
    """
    parts = list(_windows(source, folder, windows)) if windows else []
    wanted = [(part, folder / f"{part.stem}.json.gz", 1) for part in parts]
    wanted += [(source, folder / f"copies_{number}.json.gz", number) for number in copies]
    _in_parallel(iter(wanted))
    numbers = [0] * len(parts) + list(copies)
    return [Made(path, number) for (_, path, _), number in zip(wanted, numbers, strict=True)]


def _in_parallel(wanted: Iterator[tuple[Path, Path, int]]) -> None:
    running: list[Popen[bytes]] = []
    while True:
        running += [inflate(*one) for one in islice(wanted, _AT_ONCE - len(running))]
        if not running:
            return
        if running.pop(0).wait():
            for other in running:
                other.terminate()
            raise SystemExit("scaling.py: a trace could not be made (see above)")


def _windows(source: Path, folder: Path, sizes: Sequence[int]) -> Iterator[Path]:
    """So many events, in the order of their starts, around the middle one of the trace."""
    opened = gzip.open if source.suffix == ".gz" else open
    with opened(source, "rb") as file:
        document: dict[str, Any] = json.load(file)
    events = document["traceEvents"]
    once = [event for event in events if event.get("ph") == "M"]
    timed = sorted((e for e in events if e.get("ph") != "M"), key=lambda e: float(e["ts"]))
    for size in (size for size in sizes if size < len(timed)):
        begin = (len(timed) - size) // 2
        path = folder / f"window_{size}.part.json"
        part = {**document, "traceEvents": once + timed[begin : begin + size]}
        path.write_text(json.dumps(part), encoding="utf-8")
        yield path
