"""Writes the differences as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from .differences import Differences, Found, Kind, Spot, shown

_MOST_TEXTS = 300


def page(differences: Differences, traces: int, seconds: float) -> str:
    """The whole page, what is not allowed first."""
    verdict = "equal but for added fields and changed words" if differences.equal else "DIFFERENT"
    parts = [
        f"# Same answers: {verdict}",
        f"{traces} traces, {sum(differences.compared.values())} pairs of answers, {seconds:.0f} s.",
    ]
    others = [kind for kind in Kind if not kind.allowed]
    parts += _section("Not allowed", differences.of(*others))
    parts += _section("Added fields", differences.of(Kind.ADDED))
    parts += _section("Renamed ids, one to one", differences.of(Kind.RENAMED))
    parts += _texts(differences)
    parts.append("## What was compared")
    rows = [[*key, str(count)] for key, count in sorted(differences.compared.items())]
    parts.append(_table(["route or command", "status", "answers"], rows))
    return "\n\n".join(parts) + "\n"


def _section(title: str, spots: list[tuple[Spot, Found]]) -> Iterator[str]:
    yield f"## {title}"
    if not spots:
        yield "None."
        return
    rows = [
        [
            spot.where,
            f"`{spot.pattern}`",
            spot.kind.value,
            *(str(found.count), str(len(found.traces)), found.example),
        ]
        for spot, found in spots
    ]
    yield _table(["where", "path", "difference", "count", "traces", "first example"], rows)


def _texts(differences: Differences) -> Iterator[str]:
    yield "## Changed texts"
    if not differences.words:
        yield "None."
        return
    yield "Numbers are masked with `#`; the third column says whether they stayed as they were."
    merged: dict[tuple[str, str, bool], tuple[int, str]] = {}
    for words, count in differences.words.items():
        key = words.old, words.new, words.same_numbers
        before, place = merged.get(key, (0, f"{words.where} `{words.pattern}`"))
        merged[key] = before + count, place
    rows = [
        [*shown(old, new).split(" -> ", 1), "same" if same else "**other**", str(count), place]
        for (old, new, same), (count, place) in sorted(merged.items())
    ]
    yield _table(["old", "new", "numbers", "count", "first place"], rows[:_MOST_TEXTS])
    if len(rows) > _MOST_TEXTS:
        yield f"{len(rows) - _MOST_TEXTS} more."


def _table(head: list[str], rows: list[list[str]]) -> str:
    cells = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *cells])
