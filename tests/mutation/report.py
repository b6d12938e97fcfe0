"""The figures of a run as markdown: one row a module, then what no test noticed."""

from __future__ import annotations

from typing import NamedTuple


class Score(NamedTuple):
    """What the tests noticed of the mutants of one module."""

    name: str
    module: str
    mutants: int
    """All that mutmut makes of the file."""
    tried: int
    """Those that were run: all, or the sample."""
    noticed: int
    by_time: int
    """Noticed because the tests ran into the time limit."""
    not_noticed: list[tuple[str, str, str]]
    """Function, verdict ("survived", "no tests") and difference of each."""


def markdown(scores: list[Score], before: list[Score], sample: int, with_list: bool) -> str:
    """The table, with a column of the scores `before` where there are any; then the list."""
    head = ["module", "mutants", "tried", "noticed", "by time", "share"]
    earlier = {score.name: score for score in before}
    rows = [_row(score) + _before(score, earlier) for score in scores]
    rows.append(_row(_total(scores)) + _before(_total(before), {"all": _total(before)}))
    if before:
        head.append("before")
    width = len(head)
    lines = [head, ["---", *["---:"] * (width - 1)], *(row[:width] for row in rows)]
    drawn = f"At most {sample} mutants a module, drawn with a fixed seed." if sample else ""
    parts = ["\n".join(f"| {' | '.join(line)} |" for line in lines), drawn]
    if with_list:
        parts += [_list(score) for score in scores]
    return "\n\n".join(part for part in parts if part) + "\n"


def _row(score: Score) -> list[str]:
    figures = (score.mutants, score.tried, score.noticed, score.by_time)
    return [f"`{score.name}`", *map(str, figures), _share(score)]


def _before(score: Score, earlier: dict[str, Score]) -> list[str]:
    return [_share(earlier[score.name]) if score.name in earlier else ""]


def _share(score: Score) -> str:
    return f"{100 * score.noticed / score.tried:.1f} %" if score.tried else "none"


def _total(scores: list[Score]) -> Score:
    sums = (sum(score[column] for score in scores) for column in (2, 3, 4, 5))  # type: ignore[misc]
    return Score("all", "", *sums, [])


def _list(score: Score) -> str:
    """The changed lines of each mutant that no test noticed, as one block of differences."""
    if not score.not_noticed:
        return ""
    lines, place = [], ""
    for function, state, difference in score.not_noticed:
        if function != place:
            place = function
            lines.append(f"@@ {place}{' (no test calls it)' if state == 'no tests' else ''}")
        lines += [line for line in difference.splitlines()[2:] if line[:1] in "+-"]
    return f"## `{score.name}`\n\n```diff\n" + "\n".join(lines) + "\n```"
