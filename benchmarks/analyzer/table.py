"""The measurements as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
from analyzer.traces import json_bytes, label

AIM = 8.0
"""How many times as fast as the fastest peer the analyzer is to be."""

_MB = 1e6


def time_table(rows: Sequence[Row]) -> str:
    """Seconds of every contender, and how they compare."""
    head = [
        "trace",
        "JSON, MB",
        "events",
        *(f"{contender.title}, s" for contender in CONTENDERS),
        "fastest peer / hookview",
        "json.loads / hookview",
        "hookview / floor",
    ]
    return _table(head, (_time_row(row) for row in rows), left=1)


def _time_row(row: Row) -> list[str]:
    cells = row.cells
    peer = row.fastest_peer()
    own = cells[HOOKVIEW.name]
    times = [_cell(cells[each.name], "{0.seconds:.3g}") for each in CONTENDERS]
    times[0] = f"**{times[0]}**"
    return [
        _name(row),
        f"{json_bytes(row.path) / _MB:.1f}",
        _events(cells[JSON_LOADS.name]),
        *times,
        f"**{_times(row.ratio(peer[1]))}**" if peer else "no peer read it",
        _times(row.ratio(cells[JSON_LOADS.name].seconds)) if cells[JSON_LOADS.name].runs else "",
        _times(own.seconds / cells[FLOOR.name].seconds)
        if own.runs and cells[FLOOR.name].runs
        else "",
    ]


def memory_table(rows: Sequence[Row]) -> str:
    """Megabytes that the work added, and in brackets the peak of the process."""
    head = ["trace", "JSON", *(contender.title for contender in CONTENDERS), "hookview / JSON"]
    return _table(head, (_memory_row(row) for row in rows), left=1)


def _memory_row(row: Row) -> list[str]:
    size = json_bytes(row.path)
    own = row.cells[HOOKVIEW.name]
    return [
        _name(row),
        f"{size / _MB:.0f}",
        *(_memory(row.cells[contender.name]) for contender in CONTENDERS),
        f"{_added(own) / size:.1f}" if own.runs else "",
    ]


def _memory(cell: Cell) -> str:
    if cell.fails or not cell.runs:
        return _failure(cell)
    return f"{_added(cell) / _MB:.0f} ({cell.middle('rss_peak') / _MB:.0f})"


def _added(cell: Cell) -> float:
    return cell.middle("rss_peak") - cell.middle("rss_before")


def stage_table(rows: Sequence[Row]) -> str:
    """Milliseconds of each stage of ours, from the median run, with its share."""
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
        body.append([_name(row), *shares, f"{whole * 1e3:.0f}"])
    return _table(["trace", *(f"{name}, ms" for name in names), "all, ms"], body, left=1)


def _seconds(run: dict[str, float]) -> float:
    return run["seconds"]


def verdict(rows: Sequence[Row]) -> str:
    """On which files the aim is met."""
    peers = [(row, row.fastest_peer()) for row in rows]
    ratios = {label(row.path): row.ratio(peer[1]) for row, peer in peers if peer}
    if not ratios:
        return "No file that a peer could read."
    missed = [
        f"{name} ({_times(ratio) or 'hookview fails'})"
        for name, ratio in ratios.items()
        if ratio is None or ratio < AIM
    ]
    met = f"At least {AIM:.0f} times as fast as the fastest peer: on {len(ratios) - len(missed)}"
    met += f" of the {len(ratios)} files that a peer could read."
    return f"{met} Not on: {', '.join(missed)}." if missed else met


def how_often(rows: Sequence[Row], repeats: int) -> str:
    """How many runs the medians are of, and how far runs lay apart."""
    counted = [cell.runs for row in rows for cell in row.cells.values() if len(cell.runs) > 1]
    spreads = sorted(max(map(_seconds, runs)) / min(map(_seconds, runs)) for runs in counted)
    text = f"Medians of {repeats} run{'s' * (repeats > 1)}, in turn, each in a fresh process."
    if any(len(runs) < repeats for runs in counted):
        text += f" A contender that took over {SLOW:.0f} s on a file ran {SLOW_RUNS} times there."
    if spreads:
        text += (
            f" Slowest over fastest run of a cell: {spreads[len(spreads) // 2]:.2f} at the median, "
            f"{spreads[-1]:.2f} at most."
        )
    return text


def versions(rows: Sequence[Row]) -> str:
    """Versions of everything measured."""
    found: dict[str, set[str]] = {}
    for cell in (cell for row in rows for cell in row.cells.values()):
        for name, version in (cell.runs[0]["versions"] if cell.runs else {}).items():
            found.setdefault(name, set()).add(version)
    return ", ".join(f"{name} {' and '.join(sorted(found[name]))}" for name in found)


def _name(row: Row) -> str:
    return _text(label(row.path))


def _text(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _cell(cell: Cell, form: str) -> str:
    return _failure(cell) if cell.fails or not cell.runs else form.format(cell)


def _failure(cell: Cell) -> str:
    return f"fails: {_text(cell.fails or 'not run')[:90]}"


def _times(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.1f}x"


def _events(cell: Cell) -> str:
    return f"{cell.runs[0]['facts']['events']:,}" if cell.runs else ""


def _table(head: Sequence[str], body: Iterable[Sequence[str]], left: int) -> str:
    ruler = ["---" if column < left else "---:" for column in range(len(head))]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ruler, *body])
