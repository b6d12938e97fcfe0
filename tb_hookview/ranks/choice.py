"""Which of the traces in a folder are one run, where they are of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from tb_hookview.formats import format_count
from tb_hookview.ranks.map.summary import RankSummary
from tb_hookview.trace import TraceFile

_NAMED = 5
"""Traces that a warning names."""


class Choice(NamedTuple):
    """One trace for each rank, in their order, and what was left out: a line for each reason."""

    files: list[TraceFile]
    warnings: list[str]


def choose(found: Mapping[TraceFile, RankSummary], modified: Mapping[TraceFile, float]) -> Choice:
    """Choose the newest trace of each rank, of one world size and one recording.

    Args:
        found: summaries of the traces.
        modified: when each was written, seconds.
    """
    by_age = sorted(found, key=lambda file: modified[file])
    size = _world_size([found[file] for file in by_age])
    fitting = {file for file in by_age if found[file].world_size in (None, size)}
    newest = _newest(found, [file for file in by_age if file in fitting])
    before = [file for file in by_age if file in fitting and file not in newest]
    earlier = _earlier(found, newest, before)
    chosen = sorted(newest - set(earlier), key=lambda file: _place(found[file]))
    other = [file for file in by_age if file not in fitting]
    warnings = []
    if other:
        warnings.append(f"of another world size than {size}, {_not_used(other)}")
    if before:
        warnings.append(f"of earlier recordings, {_not_used([*before, *earlier])}")
    return Choice(chosen, warnings)


def _world_size(by_age: Sequence[RankSummary]) -> int | None:
    """The newest trace's among the sizes of which most ranks are there, if there are any."""
    ranks: dict[int, set[int | None]] = {}
    for summary in by_age:
        if summary.world_size is not None:
            known = ranks.pop(summary.world_size, set())
            known.add(summary.rank)
            ranks[summary.world_size] = known  # the newest last
    sizes = list(ranks)
    return max(sizes, key=lambda s: (2 * len(ranks[s]) > s, sizes.index(s)), default=None)


def _newest(found: Mapping[TraceFile, RankSummary], by_age: Sequence[TraceFile]) -> set[TraceFile]:
    """The newest trace of each rank; all of those that do not name theirs."""
    ranks: dict[object, TraceFile] = {}
    for file in by_age:
        rank = found[file].rank
        ranks[file if rank is None else rank] = file
    return set(ranks.values())


def _earlier(
    found: Mapping[TraceFile, RankSummary], newest: Set[TraceFile], before: Sequence[TraceFile]
) -> list[TraceFile]:
    """A rank's only trace that ran while older ones of others did, and with none of the newest.

    Clocks of machines may be hours apart: that alone parts nothing.
    """
    recorded_again = {found[file].rank for file in before}
    once = [file for file in newest if found[file].rank not in recorded_again] if before else []
    return [
        file
        for file in once
        if not any(_overlap(found[file], found[other]) for other in newest if other != file)
        and any(_overlap(found[file], found[other]) for other in before)
    ]


def _overlap(one: RankSummary, other: RankSummary) -> bool:
    """Whether two recordings ran at the same time, by their own clocks."""
    return one.start < _end(other) and other.start < _end(one)


def _end(summary: RankSummary) -> int:
    return int(summary.edges[-1]) if len(summary.edges) else summary.start


def _place(summary: RankSummary) -> tuple[bool, int, str]:
    return summary.rank is None, summary.rank or 0, summary.path


def _not_used(files: Sequence[TraceFile]) -> str:
    names = ", ".join(file.name for file in files[:_NAMED])
    more = f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
    return f"{format_count(len(files), 'trace')} not used: {names}{more}"
