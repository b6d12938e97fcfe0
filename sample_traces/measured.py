"""Reads and writes `measured.json`, and the tables made from it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

NAME = "measured.json"
BEGIN, END = "<!-- measured:begin -->", "<!-- measured:end -->"
Entry = dict[str, Any]


def read(folder: Path) -> dict[str, Any]:
    """Return the content of a folder's file, empty without one."""
    path = folder / NAME
    if not path.is_file():
        return {"version": 1, "scenarios": {}}
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def write(folder: Path, content: dict[str, Any]) -> None:
    """Write a folder's file, and the tables into its README.md."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(content, indent=1, sort_keys=False)
    (folder / NAME).write_text(f"{text}\n", encoding="utf-8")
    readme = folder / "README.md"
    page = readme.read_text(encoding="utf-8") if readme.is_file() else ""
    if BEGIN not in page or END not in page:
        page = f"{page}\n# Recorded traces\n\n{BEGIN}\n{END}\n".lstrip()
    before, rest = page.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    readme.write_text(f"{before}{BEGIN}\n\n{tables(content)}\n\n{END}{after}", encoding="utf-8")


def shown(entry: Entry, variant: Entry) -> list[Entry]:
    """Return the findings expected of a variant that a recording on its device can show."""
    device = entry.get("kind") != "cpu"
    return [each for each in variant["expected"] if device or not each["needs_device"]]


def tables(content: dict[str, Any]) -> str:
    """Return everything as Markdown."""
    scenarios: dict[str, Entry] = content["scenarios"]
    parts = [*_places(scenarios), _steps(scenarios), *_notes(scenarios)]
    grids = [_grid(name, entry) for name, entry in scenarios.items() if entry.get("further")]
    checks = content.get("checks")
    return "\n\n".join(
        [*parts, *grids, *(_checks(checks) if checks else []), *_left_out(scenarios)]
    )


def place_of(entry: Entry) -> str:
    """Return a line on where and when something was measured."""
    quick = ", small sizes and few steps" if entry.get("quick") else ""
    device = entry.get("device", "?")
    small = ", sizes for a CPU" if entry.get("kind") == "cpu" and not quick else ""
    return f"{device}, torch {entry.get('torch', '?')}, {entry.get('date', '?')}{small}{quick}"


def _places(scenarios: dict[str, Entry]) -> list[str]:
    places: dict[str, list[str]] = {}
    for name, entry in scenarios.items():
        places.setdefault(place_of(entry), []).append(name)
    if len(places) == 1:
        return [f"{next(iter(places))}."]
    return [f"{place}: {', '.join(names)}." for place, names in places.items()]


def _steps(scenarios: dict[str, Entry]) -> str:
    rows = [
        "| scenario | variant | ms per step | quartiles | ratio | a report should name | trace |",
        "| --- | --- | ---: | ---: | ---: | --- | --- |",
    ]
    for name, entry in scenarios.items():
        for variant, measured in entry.get("variants", {}).items():
            if "step_ms" in measured or "trace" in measured:
                rows.append(_row(name, variant, entry, measured))
    return "\n".join(rows)


def _row(name: str, variant: str, entry: Entry, measured: Entry) -> str:
    first = next(iter(entry["variants"].values())).get("step_ms")
    step = measured.get("step_ms")
    timed, quartiles, ratio = "not timed", "", ""
    if step is not None:
        timed, quartiles = f"{step:.3f}", " to ".join(f"{ms:.3f}" for ms in measured["spread_ms"])
        ratio = f"{step / first:.2f}" if first else ""
    expected = " and ".join(_named(each) for each in shown(entry, measured))
    if measured.get("late") is not None:
        expected = f"`hookview ranks`: a straggler, by `{measured['late']}`"
    if entry.get("healthy"):
        expected = "nothing of high confidence"
    trace = measured.get("trace_skipped", "none")
    if "trace" in measured:
        trace = f"[{measured['trace_bytes'] / 1000:.0f} kB]({measured['trace']}/)"
    return f"| {name} | {variant} | {timed} | {quartiles} | {ratio} | {expected} | {trace} |"


def _notes(scenarios: dict[str, Entry]) -> list[str]:
    """Return what the recordings of each scenario show, where that is said."""
    notes = [
        f"- **{name}**: {entry['title']}. {entry['shows']}"
        for name, entry in scenarios.items()
        if entry.get("shows") and entry.get("kind") == "cpu"
    ]
    return ["\n".join(notes)] if notes else []


def _named(expected: Entry) -> str:
    rules = " or ".join(f"`{rule}`" for rule in expected["any_of"])
    return rules if expected["module"] is None else f"{rules} in `{expected['module']}`"


def _grid(name: str, entry: Entry) -> str:
    """Return milliseconds of both variants next to each other, for each N and call."""
    times = {
        (row["n"], row["batch"], row["compiled"], row["way"]): row["ms"] for row in entry["further"]
    }
    rows = [
        f"{name}: milliseconds of one call, of a batch of 32 by a loop (nonzero) or by one call "
        "(static).",
        "",
        "| N | batch | compiled | nonzero | static | ratio |",
        "| ---: | ---: | --- | ---: | ---: | ---: |",
    ]
    for size, batch, compiled in dict.fromkeys(key[:3] for key in times):
        old = times.get((size, batch, compiled, "nonzero"))
        new = times.get((size, batch, compiled, "static"))
        ratio = f"{old / new:.2f}" if old and new else ""
        cells = [f"{ms:.3f}" if ms is not None else "not measured" for ms in (old, new)]
        said = "yes" if compiled else "no"
        rows.append(f"| {size} | {batch} | {said} | {cells[0]} | {cells[1]} | {ratio} |")
    return "\n".join(rows)


def _checks(checks: dict[str, Any]) -> list[str]:
    parts = [f"Checks of the recorder ({place_of(checks)}; `--overhead`)."]
    if "error" in checks:
        parts.append(f"Not finished: {checks['error']}.")
    for model, times in checks.get("overhead", {}).items():
        if "skipped" in times:
            parts.append(f"{model}: {times['skipped']}.")
            continue
        base = times["plain"]["step_ms"]
        rows = [f"| {model} | ms per step | of plain |", "| --- | ---: | ---: |"]
        rows += [
            f"| {name} | {each['step_ms']:.3f} | {each['step_ms'] / base:.2f} |"
            for name, each in times.items()
        ]
        parts.append("\n".join(rows))
    if "gradients" in checks:
        rows = ["| model | tensors compared | equal bit for bit |", "| --- | ---: | --- |"]
        rows += [
            f"| {name} | {each.get('tensors', '')} | {_said(each)} |"
            for name, each in checks["gradients"].items()
        ]
        parts.append("\n".join(rows))
    return parts


def _said(check: Entry) -> str:
    if "equal" not in check:
        return str(check.get("skipped", "not run"))
    return "yes" if check["equal"] else f"no: {', '.join(check['different'])}"


def _left_out(scenarios: dict[str, Entry]) -> list[str]:
    notes = []
    for name, entry in scenarios.items():
        if "error" in entry:
            notes.append(f"- {name}: {entry['error']}")
        if "skipped" in entry:
            notes.append(f"- {name}: skipped, {entry['skipped']}")
        notes += [
            f"- {name}, {variant}: skipped, {measured['skipped']}"
            for variant, measured in entry.get("variants", {}).items()
            if "skipped" in measured
        ]
        if entry.get("losses_agree") is False:
            notes.append(f"- {name}: the variants' first losses differ by more than they should")
    return ["Left out, or not as it should be:\n\n" + "\n".join(notes)] if notes else []
