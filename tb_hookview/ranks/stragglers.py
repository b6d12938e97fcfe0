"""Every straggler in order, each found with those before it fixed; remarks on a run.

as recorded      rank 0 waits 120, rank 1 waits 0, rank 2 waits 40     rank 1 is late
rank 1 fixed     rank 0 waits  80, rank 1 waits 80, rank 2 waits 0     rank 2 is next
rank 2 fixed     nobody waits
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

import numpy as np

from tb_hookview.arrays.types import Bool, Float
from tb_hookview.formats import format_us
from tb_hookview.ranks.fixes import Fix, Fixes, World
from tb_hookview.ranks.late import Phase, Reason
from tb_hookview.ranks.lateness import (
    LEAST_SHARE,
    MOST,
    compared_steps,
    find_lateness,
    late_at_begin,
    latest,
    names_of,
    peers_of,
    suspected,
)
from tb_hookview.ranks.map.summary import RankSummary
from tb_hookview.ranks.members import Members
from tb_hookview.ranks.pipelines import SlowPass
from tb_hookview.ranks.stages import unpaired

MOST_NAMED = 32
"""Stragglers that are named: each is one more replay of the run."""
SlowOf = Callable[[int], Sequence[SlowPass]]
"""Passes of a rank's microbatches that take longer than those of other stages, slowest first."""
_WORKS_LONGER = 1 / 2
"""Part of what the others wait that a straggler works longer, at least, where that decides."""
_ENOUGH = 3
"""Steps from which on a rank's own work can show that it is late, however the waits vary."""


class Straggling(NamedTuple):
    """A rank that is late in most steps; nanoseconds per step, those before it fixed."""

    rank: int
    late: float
    """What the others wait longer than it does."""
    share: float
    """That over the recorded step."""
    steps: int
    of_steps: int
    excess: dict[Reason, float]
    """What it spends more time on than the others, the largest first."""
    phases: Mapping[str, Phase]
    """The pass in which most of that is, by path of the module."""
    on_device: bool
    """Whether most of the largest is time of its device."""
    gain: float
    left: float
    """Mean step with this one fixed too."""
    is_sure: bool
    """Whether that is more than chance: in a single step it never is."""


class Suspect(NamedTuple):
    """A rank that is late in all steps, which are too few to rule out chance."""

    straggling: Straggling
    needed: int
    """Steps that would be enough."""


class Compared(NamedTuple):
    """What lateness is judged by: steps that several of r ranks have, with a collective in them."""

    names: list[str]
    step: float
    """Mean duration of these steps, nanoseconds."""
    at_begin: Float
    """What is not counted, as the recordings start at different times; nanoseconds, shape (r,)."""
    cut: list[tuple[int, str]]
    """Steps that are not compared, as a trace is cut off in them: place of the rank, and name."""
    lateness: Callable[[World], Float]
    """How late each rank is in each of these steps in a world, nanoseconds; NaN for unknown."""


def compare_ranks(ranks: Sequence[RankSummary], members: Members) -> Compared:
    """Find what the ranks are compared by.

    Args:
        ranks: summaries.
        members: their collectives.
    """
    (compared, lacking), peers = compared_steps(ranks, members), peers_of(ranks, members)
    names, at_begin = names_of(ranks, compared), late_at_begin(ranks, members)
    cut = [
        (place, ranks[place].steps.name[at])
        for place, steps in enumerate(lacking)
        for at in np.flatnonzero(steps).tolist()
    ]

    def lateness(world: World) -> Float:
        return find_lateness(ranks, world.waits, compared, names, peers) - at_begin[:, None]

    return Compared(names, _step(ranks, compared), at_begin, cut, lateness)


def find_stragglers(compared: Compared, fixes: Fixes, slow_of: SlowOf) -> list[Straggling]:
    """Find the ranks for which the others wait in most steps, the worst first.

    Args:
        compared: what the ranks are compared by.
        fixes: of these.
        slow_of: what a stage of a pipeline takes longer for.
    """
    world, seen, found = fixes.recorded, set[int](), list[Straggling]()
    names, step, *_, lateness = compared
    while names and len(found) < MOST_NAMED:
        late = lateness(world)
        total = np.nansum(late, axis=1)
        total[list(seen)] = -np.inf
        worst = int(total.argmax())  # late by most, whatever that is worth

        def is_sure(place: int, late: Float = late, worst: int = worst) -> bool:
            if fixes.is_staged[place]:
                return _surely(slow_of(place)) >= LEAST_SHARE * step
            return place == worst and _works_longer(fixes, place, _known(names, late[place]), step)

        rank = latest(late, step, seen, is_sure)
        if rank is None:
            break
        seen.add(rank)
        known = _known(names, late[rank])
        fix = fixes.fix(world, rank, known, _surely(slow_of(rank)))
        if not fixes.is_staged[rank] or _explains(fix, step, known.values()):
            found.append(_straggling(rank, list(known.values()), step, world, fix))
            world = fix.world
        if len(names) == 1:
            break  # a single step says who is latest, and nothing on chance
    return found


def _known(names: Sequence[str], late: Float) -> dict[str, float]:
    """Lateness of a rank by the name of the step, where it is known."""
    return {name: t for name, t in zip(names, late.tolist(), strict=True) if t == t}


def _works_longer(fixes: Fixes, rank: int, late: Mapping[str, float], step: float) -> bool:
    """Whether it is known of a straggler by its own work, which others do not disturb."""
    often = sum(time > 0 for time in late.values()) >= MOST * len(late)
    if not often or len(late) < _ENOUGH:
        return False
    least = max(LEAST_SHARE * step * len(late), _WORKS_LONGER * sum(late.values()))
    return fixes.surely_longer(rank, late) >= least


def _surely(slow: Sequence[SlowPass]) -> float:
    """Time per step that a stage works longer on microbatches that are slow in most steps."""
    return sum(each.excess for each in slow if each.is_sure)


def find_suspect(
    compared: Compared, fixes: Fixes, stragglers: Sequence[Straggling]
) -> Suspect | None:
    """Find the rank that was late in all of the steps, where they are too few to be sure.

    In a single step another may be as late as the straggler.
    """
    names, step, *_, lateness = compared
    if not names or (stragglers and len(names) > 1):
        return None
    late = lateness(fixes.recorded)
    late_in_all = suspected(late, step, [each.rank for each in stragglers])
    if late_in_all is None:
        return None
    rank, needed = late_in_all
    known = _known(names, late[rank])
    fix = fixes.fix(fixes.recorded, rank, known)
    if fixes.is_staged[rank] and not _explains(fix, step, known.values()):
        return None
    late_by = list(known.values())
    found = _straggling(rank, late_by, step, fixes.recorded, fix)
    return Suspect(found._replace(is_sure=False), needed)


def _explains(fix: Fix, step: float, late: Collection[float]) -> bool:
    """Whether the rank works longer; else its place in the schedule keeps it from waiting."""
    least = max(LEAST_SHARE * step * len(late), _WORKS_LONGER * sum(late))
    return sum(fix.excess.values()) >= least


def _straggling(
    rank: int, late: Sequence[float], step: float, world: World, fix: Fix
) -> Straggling:
    count = len(late)
    return Straggling(
        rank=rank,
        late=fmean(late),
        share=fmean(late) / step,
        steps=sum(time > 0 for time in late),
        of_steps=count,
        excess={reason: time / count for reason, time in fix.excess.items()},
        phases=fix.phases,
        on_device=fix.on_device,
        gain=(fix.world.gained - world.gained) / count,
        left=step - fix.world.gained / count,
        is_sure=count > 1,
    )


def _step(ranks: Sequence[RankSummary], compared: Sequence[Bool]) -> float:
    """Mean duration of the steps that are compared."""
    durations = np.concatenate(
        [rank.steps.duration[mine] for rank, mine in zip(ranks, compared, strict=True)]
    )
    return float(durations.mean()) if len(durations) else 0.0


# What the traces of a run lack, and what puts in doubt the matches: lines for its answer.


_DOUBTED_US = 20_000.0
"""Spread of the clocks beyond which the matches are doubted: a busy host alone reaches some ms."""
_NAMED = 20
"""Damaged traces, and steps that are cut off, that are named."""
_LOWER_BOUNDS = (
    "waits for a rank without a trace count as transfer: it may be the straggler, and waits are "
    "lower bounds"
)
_LISTED = 8
"""Ranks whose traces show no collective that are listed."""


def remarks(
    ranks: Sequence[RankSummary],
    numbers: Sequence[int],
    compared: Compared,
    clock_spread_us: float | None,
    suspect: Suspect | None,
) -> list[str]:
    """Return a line for each.

    Args:
        ranks: summaries.
        numbers: of the ranks.
        compared: what they are compared by.
        clock_spread_us: by how much the clocks differ.
        suspect: late in all of too few steps.
    """
    return [
        *_of_traces(ranks),
        *_lacking(ranks, numbers),
        *_begins(compared),
        *_losses(ranks),
        *_cut_off(compared.cut, numbers),
        *_doubts(clock_spread_us),
        *_of_steps(suspect, numbers),
    ]


def _begins(compared: Compared) -> Iterator[str]:
    worst = float(compared.at_begin.max(initial=0.0))
    if worst >= LEAST_SHARE * compared.step > 0:
        yield (
            f"no steps are marked: a wait of {format_us(worst / 1000)} at the first collective is "
            "not counted as lateness: recordings start at different times"
        )


def _of_steps(suspect: Suspect | None, numbers: Sequence[int]) -> Iterator[str]:
    if suspect is not None:
        found = suspect.straggling
        steps = f"in all of {found.of_steps} steps" if found.of_steps > 1 else "in the only step"
        yield (
            f"the others waited {format_us(found.late / 1000)} per step for rank "
            f"{numbers[found.rank]} "
            f"{steps}, too few to rule out chance; record {suspect.needed + 1} or more, as the "
            "first warms up"
        )


def _of_traces(ranks: Sequence[RankSummary]) -> Iterator[str]:
    if any(unpaired(rank) for rank in ranks):
        yield "messages name neither source nor target; steps are compared as a whole"
    if len(ranks) > 1 and any(len(ranks) < (rank.world_size or 0) for rank in ranks):
        yield _LOWER_BOUNDS
    known = [rank.rank for rank in ranks]
    if None in known or len(set(known)) < len(known):
        yield "not every trace says its rank; ranks are numbered by the order of the files"


def without_collectives(ranks: Sequence[RankSummary]) -> list[int]:
    """Places of the ranks whose traces show no collective, where those of others do."""
    lacking = [place for place, rank in enumerate(ranks) if not len(rank.collectives)]
    return lacking if len(lacking) < len(ranks) else []


def _lacking(ranks: Sequence[RankSummary], numbers: Sequence[int]) -> Iterator[str]:
    lacking = [str(numbers[place]) for place in without_collectives(ranks)]
    if lacking:
        more = f" and {len(lacking) - _LISTED} more" if len(lacking) > _LISTED else ""
        of = (
            f"ranks {', '.join(lacking[:_LISTED])}{more} show"
            if len(lacking) > 1
            else (f"rank {lacking[0]} shows")
        )
        yield (
            f"{of} no collective, unlike the others: waits for such a rank count as transfer: "
            "it may be the straggler, and waits are lower bounds"
        )


def _losses(ranks: Sequence[RankSummary]) -> Iterator[str]:
    lost = [f"{rank.path}: {rank.lost}" for rank in ranks if rank.lost]
    yield from lost[:_NAMED]
    if len(lost) > _NAMED:
        yield f"{len(lost) - _NAMED} more traces are damaged"


def _cut_off(cut: Sequence[tuple[int, str]], numbers: Sequence[int]) -> Iterator[str]:
    for place, name in cut[:_NAMED]:
        yield f"{name} is cut off in the trace of rank {numbers[place]}, and not compared"
    if len(cut) > _NAMED:
        yield f"{len(cut) - _NAMED} more steps are cut off"


def _doubts(spread: float | None) -> Iterator[str]:
    """All ranks leave a collective at about the same moment; where they do not, say so."""
    if spread is not None and spread > _DOUBTED_US:
        yield (
            f"the ranks' ends of the same collectives differ by up to {format_us(spread)}: what is "
            "matched here may not belong together"
        )
