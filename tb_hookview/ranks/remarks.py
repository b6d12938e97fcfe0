"""What the traces of a run lack, and what puts in doubt the matches: lines for its answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tb_hookview.formats import format_us
from tb_hookview.ranks.map.summary import RankSummary
from tb_hookview.ranks.stages import unpaired
from tb_hookview.ranks.stragglers import Suspect

_DOUBTED_US = 20_000.0
"""Spread of the clocks beyond which the matches are doubted: a busy host alone reaches some ms."""
_NAMED = 20
"""Damaged traces that are named."""


def remarks(
    ranks: Sequence[RankSummary], clock_spread_us: float | None, suspect: Suspect | None
) -> list[str]:
    """Return a line for each.

    Args:
        ranks: summaries.
        clock_spread_us: by how much the clocks differ.
        suspect: late in all of too few steps; by its number.
    """
    return [*_of_traces(ranks), *_losses(ranks), *_doubts(clock_spread_us), *_of_steps(suspect)]


def _of_steps(suspect: Suspect | None) -> Iterator[str]:
    if suspect is not None:
        yield (
            f"the others waited {format_us(suspect.late / 1000)} per step for rank "
            f"{suspect.rank} in all of {suspect.steps} steps, too few to rule "
            f"out chance; record {suspect.needed + 1} or more, as the first warms up"
        )


def _of_traces(ranks: Sequence[RankSummary]) -> Iterator[str]:
    if any(unpaired(rank) for rank in ranks):
        yield "messages name neither source nor target; steps are compared as a whole"
    known = [rank.rank for rank in ranks]
    if None in known or len(set(known)) < len(known):
        yield "not every trace says its rank; ranks are numbered by the order of the files"


def _losses(ranks: Sequence[RankSummary]) -> Iterator[str]:
    lost = [f"{rank.path}: {rank.lost}" for rank in ranks if rank.lost]
    yield from lost[:_NAMED]
    if len(lost) > _NAMED:
        yield f"{len(lost) - _NAMED} more traces are damaged"


def _doubts(spread: float | None) -> Iterator[str]:
    """All ranks leave a collective at about the same moment; where they do not, say so."""
    if spread is not None and spread > _DOUBTED_US:
        yield (
            f"the ranks' ends of the same collectives differ by up to {format_us(spread)}: what is "
            "matched here may not belong together"
        )
