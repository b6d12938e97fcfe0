"""A recorded run in which ranks were held up, made of one in which none was.

In each step a rank is held up in one row, and the others wait for it in their collectives. Each
delay is many times as long as the whole recording, so that what the machine did meanwhile, and how
its processes took turns, decides nothing.
"""

from __future__ import annotations

import gzip
import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

Event = dict[str, Any]
Partners = Callable[[int, int], list[object]]
"""What names each of the collectives that a rank has in a step, in order: rank and ranks."""
LONGER = 100
"""Length of a delay over that of the recording."""


class Collective(NamedTuple):
    """One rank's row of a collective."""

    row: Event
    called: float
    """When the rank asked for it. The thread that does it may begin later: it is not held up."""
    awaited: float
    """When the rank goes on: the end of its wait. That thread may note the end later."""


@dataclass
class Rank:
    """The recording of one rank; levels count the delays that it is behind by at some moment."""

    path: Path
    root: dict[str, Any]
    collectives: dict[object, Collective] = field(default_factory=dict)
    held: list[float] = field(default_factory=list)
    """Moments at which it is held up."""
    awaited: list[tuple[float, int]] = field(default_factory=list)
    """Moments at which it goes on no sooner than others, and their level."""

    @cached_property
    def rows(self) -> list[Event]:
        rows = [event for event in self.root["traceEvents"] if event["ph"] == "X"]
        return sorted(rows, key=lambda row: (row["ts"], -row["dur"]))

    @cached_property
    def steps(self) -> list[Event]:
        return [row for row in self.rows if row["name"].startswith("ProfilerStep#")]

    @property
    def thread(self) -> Any:
        """The one that trains."""
        return self.steps[0]["tid"]

    def level(self, moment: float) -> int:
        level = 0
        changes = [*((at, None) for at in self.held), *self.awaited]
        for _, least in sorted((c for c in changes if c[0] < moment), key=lambda c: c[0]):
            level = level + 1 if least is None else max(level, least)
        return level


def hold_up(
    recorded: Path,
    folder: Path,
    row: str,
    ranks: Iterable[int],
    *,
    partners: Partners | None = None,
    until: str | None = None,
    which: int = 1,
) -> float:
    """Write the run as it would be if some ranks took longer in a row of each step.

    Args:
        recorded: folder of its traces.
        folder: where those of the other run go.
        row: name of the rows of which one in each step is lengthened.
        ranks: those that are held up.
        partners: which collectives are the same; by default those of all ranks, in order.
        until: name of the row of a step before which a rank waits for its collectives; None where
            it waits for each before it does anything else.
        which: place of that row among those of its name in the step.

    Returns:
        Length of a delay, microseconds.
    """
    run = [_read(path) for path in sorted(recorded.glob("*.json.gz"))]
    for number, rank in enumerate(run):
        names = None if partners is None else partners(number, len(run))
        for place, step in enumerate(_steps(rank)):
            if number in ranks:
                held = [each for each in step if each["name"] == row][which]
                rank.held.append(held["ts"] + held["dur"] / 2)
            _add_collectives(rank, step, place, names, until)
    levels = _levels(run)
    delay = float(round(LONGER * max(_length(rank) for rank in run)))
    folder.mkdir()
    for rank in run:
        _write(folder / rank.path.name, rank, levels, delay)
    return delay


def _read(path: Path) -> Rank:
    return Rank(path, json.loads(gzip.decompress(path.read_bytes())))


def _steps(rank: Rank) -> list[list[Event]]:
    """The rows that begin in each step."""
    return [
        [row for row in rank.rows if step["ts"] < row["ts"] < step["ts"] + step["dur"]]
        for step in rank.steps
    ]


def _add_collectives(
    rank: Rank, step: list[Event], number: int, names: list[object] | None, until: str | None
) -> None:
    rows = [row for row in step if row["name"].startswith("gloo:")]
    calls = [row for row in step if row["name"].startswith("c10d::")]
    for name, row, call in zip(names or range(len(rows)), rows, calls, strict=True):
        awaited = math.nextafter(_goes_on(rank, row, call, until), 0)
        rank.collectives[number, name] = Collective(row, call["ts"], awaited)
        row["dur"] = min(row["dur"], awaited - row["ts"])


def _goes_on(rank: Rank, collective: Event, call: Event, until: str | None) -> float:
    """The first moment noted of a rank after it has waited for a collective."""
    rows = [row for row in rank.rows if row["tid"] == rank.thread and row is not collective]
    begun = max(collective["ts"], call["ts"] + call["dur"])
    if until is not None:
        later = (row for row in rows if row["ts"] > begun and row["name"].startswith(until))
        return float(next(later)["ts"])
    noted = (moment for row in rows for moment in (row["ts"], row["ts"] + row["dur"]))
    return float(min(moment for moment in noted if moment > begun))


def _levels(run: list[Rank]) -> Mapping[object, int]:
    """The level at which each collective ends: that of the rank that comes to it last."""
    left = [list(rank.collectives) for rank in run]
    levels: dict[object, int] = {}
    while any(left):
        taking_part: dict[object, list[int]] = defaultdict(list)
        for number, rank in enumerate(run):
            for name in rank.collectives:
                taking_part[name].append(number)
        ready = {
            names[0]
            for names in left
            if names and all(left[other][0] == names[0] for other in taking_part[names[0]])
        }
        assert ready, "ranks wait for one another"
        for name in ready:
            mine = [(run[number], run[number].collectives[name]) for number in taking_part[name]]
            levels[name] = max(rank.level(each.called) for rank, each in mine)
            for rank, each in mine:
                rank.awaited.append((each.awaited, levels[name]))
            for number in taking_part[name]:
                left[number].pop(0)
    return levels


def _length(rank: Rank) -> float:
    rows = rank.rows
    return float(max(row["ts"] + row["dur"] for row in rows) - rows[0]["ts"])


def _write(path: Path, rank: Rank, levels: Mapping[object, int], delay: float) -> None:
    events = [event for event in rank.root["traceEvents"] if "ts" in event]
    found = [_levels_of(rank, event, levels) for event in events]
    for event, (begin, end) in zip(events, found, strict=True):
        event["ts"] += delay * begin
        if event["ph"] == "X":
            event["dur"] += delay * (end - begin)
    path.write_bytes(gzip.compress(json.dumps(rank.root).encode(), 1))


def _levels_of(rank: Rank, event: Event, levels: Mapping[object, int]) -> tuple[int, int]:
    """Levels of the begin and of the end of an event."""
    begin, end = event["ts"], event["ts"] + event.get("dur", 0)
    if event["tid"] != rank.thread or event["name"].startswith("gloo:"):
        for name, (row, called, _) in rank.collectives.items():
            if row is event:
                return rank.level(called), levels[name]
            if row["tid"] == event["tid"] and row["ts"] <= begin <= row["ts"] + row["dur"]:
                return levels[name], levels[name]  # done with what has come from all ranks
    return rank.level(begin), rank.level(end)
