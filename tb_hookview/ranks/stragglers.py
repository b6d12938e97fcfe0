"""Ranks that are late in most steps, and what the run would gain without that.

A rank is to blame for what the others waited in collectives to which it came last, as far as they
waited longer than it did. So neither a rank that was itself kept waiting (in a pipeline the stages
after a slow one pass its lateness on) nor the stages of an even pipeline are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, median
from typing import NamedTuple

from tb_hookview.arrays.types import Nanoseconds
from tb_hookview.ranks.late import Episode, Reason
from tb_hookview.ranks.map.summary import RankSummary

MOST = 3 / 4
"""Share of the steps in which a straggler is the rank most waited for."""
LEAST_SHARE = 0.03
"""Share of the step that the others wait for it, at least."""


GainOf = Callable[[int, Sequence[Episode], Reason], float]


class Straggling(NamedTuple):
    """A rank that is late in most steps; nanoseconds a step."""

    rank: int
    caused: float
    share: float
    steps: int
    of_steps: int
    reason: Reason | None
    excess: float
    gain: float


def find_stragglers(
    ranks: Sequence[RankSummary],
    episodes: Sequence[Episode],
    waits: Sequence[Nanoseconds],
    gain_of: GainOf,
) -> list[Straggling]:
    """Find the ranks for which the others wait in most steps, the worst first.

    Args:
        ranks: summaries.
        episodes: collectives that had a late rank.
        waits: time that each rank waited in each of its steps.
        gain_of: what the run gains if some episodes of a rank lose the excess of a reason.
    """
    step_time, count = _steps(ranks)
    blame = _blame(ranks, episodes, waits)
    worst = [max(of_rank, key=of_rank.__getitem__) for of_rank in blame.values()]
    found = []
    for rank in sorted(set(worst)):
        caused = sum(of_rank.get(rank, 0.0) for of_rank in blame.values()) / count
        if worst.count(rank) < MOST * count or caused < LEAST_SHARE * step_time:
            continue
        own = [e for e in episodes if e.rank == rank and _step_name(ranks, e) is not None]
        reason, excess = _reason(own)
        gain = gain_of(rank, own, reason) if reason else 0.0
        found.append(
            Straggling(
                rank=rank,
                caused=caused,
                share=caused / step_time,
                steps=worst.count(rank),
                of_steps=count,
                reason=reason,
                excess=excess / count,
                gain=gain / count,
            )
        )
    return sorted(found, key=lambda straggling: -straggling.caused)


def _blame(
    ranks: Sequence[RankSummary], episodes: Sequence[Episode], waits: Sequence[Nanoseconds]
) -> dict[str, dict[int, float]]:
    """Time for which each rank is to blame, by the name of the step; only where there is any."""
    caused: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for episode in episodes:
        if (name := _step_name(ranks, episode)) is not None:
            caused[name][episode.rank] += episode.caused
    waited: dict[str, dict[int, int]] = defaultdict(dict)
    for number, rank in enumerate(ranks):
        for name, wait in zip(rank.steps.name, waits[number].tolist(), strict=True):
            waited[name][number] = wait
    blame: dict[str, dict[int, float]] = {}
    for name, of_rank in caused.items():
        waits_of = waited[name]
        part = {r: min(time, _excess(waits_of, r)) for r, time in of_rank.items()}
        if part := {rank: time for rank, time in part.items() if time > 0}:
            blame[name] = part
    return blame


def _excess(waited: Mapping[int, int], late: int) -> float:
    """Time that the others waited longer than a rank, by their median; itself is not one."""
    others = [time for rank, time in waited.items() if rank != late]
    return median(others) - waited[late] if others else 0.0


def _steps(ranks: Sequence[RankSummary]) -> tuple[float, int]:
    """Mean duration of the measured steps, and the number of different ones."""
    durations, names = [], set()
    for rank in ranks:
        counted = rank.steps.counted
        durations += rank.steps.duration[counted].tolist()
        names |= {n for n, c in zip(rank.steps.name, counted.tolist(), strict=True) if c}
    return (fmean(durations) if durations else 0.0), len(names)


def _step_name(ranks: Sequence[RankSummary], episode: Episode) -> str | None:
    """Name of the step of an episode, of those that count."""
    steps = ranks[episode.rank].steps
    counts = episode.step >= 0 and bool(steps.counted[episode.step])
    return steps.name[episode.step] if counts else None


def _reason(episodes: Sequence[Episode]) -> tuple[Reason | None, int]:
    """The largest reason over some episodes, and its excess."""
    total: dict[Reason, int] = defaultdict(int)
    for episode in episodes:
        for reason, time in episode.reasons.items():
            total[reason] += time
    if not total:
        return None, 0
    best = max(total, key=total.__getitem__)
    return best, total[best]
