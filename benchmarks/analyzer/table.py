"""The measurements as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median

from common.markdown import failure, table, text
from common.page import Aim
from common.traces import json_bytes, label

from analyzer.measure import (
    CONTENDERS,
    FLOOR,
    HOOKVIEW,
    JSON_LOADS,
    SLOW,
    SLOW_RUNS,
    STAGES,
    Cell,
    Row,
)

PEER_AIM = 10.0
"""How many times as fast as the fastest peer the analyzer is to be."""

FLOOR_AIM = 1.5
"""How many times as long as the floor a report may take."""

MEMORY_AIM = 3.0
"""How many bytes of memory a byte of JSON may take."""

_MB = 1e6


def time_table(rows: Sequence[Row]) -> str:
    """Seconds of every contender, and how they compare."""
    head = [
        "trace",
        "JSON, MB",
        "events",
        *(f"{contender.title}, s" for contender in CONTENDERS),
        "hookview, CPU s",
        "fastest peer / hookview",
        "json.loads / hookview",
        "hookview / floor",
    ]
    return table(head, (_time_row(row) for row in rows))


def _time_row(row: Row) -> list[str]:
    cells = row.cells
    peer = row.fastest_peer()
    own, floor = cells[HOOKVIEW.name], _over_floor(row)
    times = [_cell(cells[each.name], "{0.seconds:.3g}") for each in CONTENDERS]
    times[0] = f"**{times[0]}**"
    return [
        _name(row),
        f"{json_bytes(row.path) / _MB:.1f}",
        _events(cells[JSON_LOADS.name]),
        *times,
        f"{own.middle('cpu'):.3g}" if own.runs else "",
        f"**{_times(row.ratio(peer[1]))}**" if peer else "no peer read it",
        _times(row.ratio(cells[JSON_LOADS.name].seconds)) if cells[JSON_LOADS.name].runs else "",
        f"**{_times(floor)}**" if floor else "",
    ]


def memory_table(rows: Sequence[Row]) -> str:
    """Megabytes that the work added, and in brackets the peak of the process."""
    head = ["trace", "JSON", *(contender.title for contender in CONTENDERS), "hookview / JSON"]
    return table(head, (_memory_row(row) for row in rows))


def _memory_row(row: Row) -> list[str]:
    size, ratio = json_bytes(row.path), _memory_over_json(row)
    return [
        _name(row),
        f"{size / _MB:.0f}",
        *(_memory(row.cells[contender.name]) for contender in CONTENDERS),
        f"**{ratio:.1f}**" if ratio else "",
    ]


def _memory(cell: Cell) -> str:
    if cell.fails or not cell.runs:
        return _failure(cell)
    return f"{cell.added / _MB:.0f} ({cell.middle('rss_peak') / _MB:.0f})"


def stage_table(rows: Sequence[Row]) -> str:
    """Milliseconds of each stage of ours, from the median run, with its share; beside them the
    parts of the floor, which is a lower bound of the first stages."""
    runs = [(row, sorted(row.cells[STAGES.name].runs, key=_seconds)) for row in rows]
    middle = [(row, found[(len(found) - 1) // 2]) for row, found in runs if found]
    names = list(dict.fromkeys(name for _, run in middle for name in run["facts"]["stages"]))
    body = []
    for row, run in middle:
        spent = run["facts"]["stages"]
        whole = sum(spent.values())
        shares = [
            f"{spent.get(name, 0) * 1e3:.0f} ({spent.get(name, 0) / whole:.0%})" for name in names
        ]
        body.append([_name(row), *_floor_parts(row), *shares, f"{whole * 1e3:.0f}"])
    head = ["trace", "to inflate alone, ms", "to walk alone, ms"]
    return table([*head, *(f"{name}, ms" for name in names), "all, ms"], body)


def _floor_parts(row: Row) -> list[str]:
    runs = [run["facts"]["floor"] for run in row.cells[FLOOR.name].runs]
    parts = ("inflate", "walk")
    return [f"{median(run[part] for run in runs) * 1e3:.0f}" if runs else "" for part in parts]


def _seconds(run: dict[str, float]) -> float:
    return run["seconds"]


def aims(rows: Sequence[Row]) -> list[Aim]:
    """What is to hold for every file, and on how many it does."""
    peers = {label(row.path): (row, row.fastest_peer()) for row in rows}
    ratios = {name: row.ratio(peer[1]) for name, (row, peer) in peers.items() if peer}
    floors = {label(row.path): _over_floor(row) for row in rows if row.cells[FLOOR.name].runs}
    memory = {label(row.path): _memory_over_json(row) for row in rows}
    return [
        _aim(
            f"a report at least {PEER_AIM:.0f} times as fast as the fastest peer, on each file",
            ratios,
            lambda ratio: ratio >= PEER_AIM,
        ),
        _aim(
            f"a report in at most {FLOOR_AIM} times the floor, on each file",
            floors,
            lambda ratio: ratio <= FLOOR_AIM,
        ),
        _aim(
            f"at most {MEMORY_AIM:.0f} bytes of memory for a byte of JSON, on each file",
            memory,
            lambda ratio: ratio <= MEMORY_AIM,
        ),
    ]


def _aim(wanted: str, ratios: Mapping[str, float | None], holds: Callable[[float], bool]) -> Aim:
    """An aim that is to hold for every ratio; None is a file on which hookview failed."""
    known = sorted(ratio for ratio in ratios.values() if ratio is not None)
    if not known:
        return Aim(wanted, "nothing to compare with", False if ratios else None)
    met = sum(map(holds, known))
    failed = len(ratios) - len(known)
    found = f"on {met} of {len(ratios)}: {_times(known[0])} to {_times(known[-1])}, "
    found += f"{_times(median(known))} at the median"
    return Aim(wanted, found + f", {failed} fail" * (failed > 0), met == len(ratios))


def _over_floor(row: Row) -> float | None:
    own, least = row.cells[HOOKVIEW.name], row.cells[FLOOR.name]
    return own.seconds / least.seconds if own.runs and least.runs else None


def _memory_over_json(row: Row) -> float | None:
    own = row.cells[HOOKVIEW.name]
    return own.added / json_bytes(row.path) if own.runs else None


def how_often(rows: Sequence[Row], repeats: int) -> str:
    """How many runs the medians are of, and how far runs lay apart."""
    counted = [cell.runs for row in rows for cell in row.cells.values() if len(cell.runs) > 1]
    spreads = sorted(max(map(_seconds, runs)) / min(map(_seconds, runs)) for runs in counted)
    told = f"Medians of {repeats} run{'s' * (repeats > 1)}, in turn, each in a fresh process."
    if any(len(runs) < repeats for runs in counted):
        told += f" A contender that took over {SLOW:.0f} s on a file ran {SLOW_RUNS} times there."
    if spreads:
        told += (
            f" Slowest over fastest run of a cell: {spreads[len(spreads) // 2]:.2f} at the median, "
            f"{spreads[-1]:.2f} at most."
        )
    return told


def imports(rows: Sequence[Row]) -> str:
    """What each contender's imports take, which is in none of the times."""
    told = []
    for contender in CONTENDERS:
        runs = [run for row in rows for run in row.cells[contender.name].runs]
        if runs:
            told.append(f"{contender.title} {median(run['imports'] for run in runs):.2g} s")
    return f"Imports, which are not counted: {', '.join(told)}."


def versions(rows: Sequence[Row]) -> str:
    """Versions of everything measured."""
    found: dict[str, set[str]] = {}
    for cell in (cell for row in rows for cell in row.cells.values()):
        for name, version in (cell.runs[0]["versions"] if cell.runs else {}).items():
            found.setdefault(name, set()).add(version)
    return ", ".join(f"{name} {' and '.join(sorted(found[name]))}" for name in found)


def _name(row: Row) -> str:
    return text(label(row.path))


def _cell(cell: Cell, form: str) -> str:
    return _failure(cell) if cell.fails or not cell.runs else form.format(cell)


def _failure(cell: Cell) -> str:
    return failure(cell.fails or "not run")


def _times(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.1f}x"


def _events(cell: Cell) -> str:
    return f"{cell.runs[0]['facts']['events']:,}" if cell.runs else ""
