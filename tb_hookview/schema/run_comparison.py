"""The comparison of two runs of many ranks as types. All times are means of a step."""

from __future__ import annotations

from msgspec import Struct

from tb_hookview.schema.comparison import CountPair, Status, UsPair
from tb_hookview.schema.ranks import Straggler
from tb_hookview.schema.terms import Times


class RankTimes(Struct, frozen=True, kw_only=True):
    """Times of a rank, or means over ranks, on both sides."""

    step_us: UsPair
    compute_us: UsPair
    communication_us: UsPair
    exposed_communication_us: UsPair
    idle_us: UsPair
    wait_us: UsPair


class RankChange(Struct, frozen=True, kw_only=True):
    """One rank of both runs, found again by its number."""

    id: str
    base_id: int | None
    other_id: int | None
    rank: int
    status: Status
    times: RankTimes


class CollectiveChange(Struct, frozen=True, kw_only=True):
    """Collectives of one name, size and number of ranks, over the whole of both runs."""

    id: str
    name: str
    """As in `Collective`; "" for unknown."""
    bytes: int | None
    ranks: int
    status: Status
    count: CountPair
    """Matched collectives per step of the run."""
    transfer_us: UsPair
    """Mean of one of them."""
    wait_us: UsPair
    """Mean of one of them."""


class RunSide(Struct, frozen=True, kw_only=True):
    """One of the two runs."""

    path: str
    ranks: int
    world_size: int | None
    stragglers: list[Straggler]


class RunComparison(Struct, frozen=True, kw_only=True):
    """What changed between two runs."""

    schema: int = 1
    base: RunSide
    other: RunSide
    speedup: Times | None
    """Mean step of the base over that of the other; null where either has none."""
    mean: RankTimes
    """Means over the ranks."""
    ranks: list[RankChange]
    """Largest change of the self time of a step (the step less the waits) first."""
    collectives: list[CollectiveChange]
    """Largest change of transfer and wait in all first."""
    late: list[int]
    """Ranks that are stragglers in the other run alone."""
    no_longer_late: list[int]
    """Ranks that are stragglers in the base alone."""
