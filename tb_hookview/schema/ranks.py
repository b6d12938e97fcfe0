"""A run of many ranks as types."""

from __future__ import annotations

from msgspec import Struct

from tb_hookview.schema.units import Bytes, Count, Share, Us


class Rank(Struct, frozen=True, kw_only=True):
    """One rank of a run; times are means over its measured steps."""

    id: int
    rank: int
    path: str
    start_us: Us
    """First moment of its trace, on its own clock: its timeline counts from there."""
    steps: Count
    """Measured steps."""
    step_us: Us | None
    """Duration of a step on the host; null without a step that counts, as what follows."""
    compute_us: Us | None
    """Something ran that is no collective: on a device or, without one, an operator."""
    communication_us: Us | None
    """A collective ran, waiting for other ranks included."""
    exposed_communication_us: Us | None
    """The part of it in which nothing computed."""
    idle_us: Us | None
    """Nothing computed and no collective ran."""
    wait_us: Us | None
    """Waiting for other ranks in matched collectives: durations beyond the shortest of the ranks.
    Time in which it waited in several counts once. Of messages that name no ranks (gloo's): what
    they took beyond the least of all ranks in the step."""
    clock_offset_us: Us | None = None
    """By how much its clock is ahead of the first rank's: median difference of the ends of the
    collectives that both took part in. Null where no chain of collectives leads from one to the
    other."""
    clock_spread_us: Us | None = None
    """How far that is known: half of the range of the middle 90% of these differences, the largest
    on the way from the first rank."""


class RankStep(Struct, frozen=True, kw_only=True):
    """One step of one rank."""

    id: int
    rank_id: int
    name: str
    start_us: Us
    """On the clock of the rank's own trace."""
    duration_us: Us
    """Duration of the step on the host."""
    compute_us: Us
    """As in `ranks`."""
    communication_us: Us
    """As in `ranks`."""
    exposed_communication_us: Us
    """As in `ranks`."""
    idle_us: Us
    """As in `ranks`."""
    wait_us: Us
    """As in `ranks`, of collectives that began in the step."""


class Collective(Struct, frozen=True, kw_only=True):
    """One collective, matched over the ranks that took part."""

    id: int
    name: str
    """`all_reduce`, ...; "" for unknown."""
    group: str
    """Process group by name and ranks; "" where no trace names it."""
    sequence: int
    """Number in its group: as the traces number them, else counted over the run."""
    step: str | None
    """Step of the first rank that took part; null for none."""
    bytes: Bytes | None
    """Bytes of the whole operation, of the rank that has most where they differ (an uneven
    all-to-all); null for unknown."""
    ranks: Count
    """Number of ranks in the run that took part."""
    start_us: Us
    """First start, on the clock of the run's first rank."""
    transfer_us: Us
    """Shortest duration over the ranks."""
    wait_us: Us
    """Mean over the other ranks of what their duration exceeds the shortest by."""
    late_rank: int | None
    """The rank with the shortest duration: it came last. Null where the others waited too little
    for that."""
    late_start_us: Us | None
    """Its start on that rank, on the clock of that rank's own trace."""
    late_module: str | None
    """Module on which it spent more time than the others since all were together; null for none."""
    late_reason: str | None
    """What it spent that time on: module, data, optimizer, sync, host; null for unknown."""
    late_by_us: Us | None
    """Time of the straggler before it, less that of the next latest; null for unknown."""
    bus_gb_per_s: float | None
    """Bytes over transfer time by the factor of nccl-tests for its kind, 10^9 bytes a second."""


class Straggler(Struct, frozen=True, kw_only=True):
    """A rank for which the others waited, in most steps."""

    id: int
    rank: int
    wait_caused_us: Us
    """Mean wait of the other ranks in collectives to which it came last, a step, as far as their
    median waited longer than it did."""
    share: Share
    """That over the mean step of the run."""
    steps: Count
    """Steps in which it was the one most waited for."""
    of_steps: Count
    """Steps that were compared."""
    module: str | None
    """Module on which it spent most of the excess; null where it is no module."""
    reason: str | None
    """module, data, optimizer, sync or host; null for unknown."""
    excess_us: Us | None
    """Time it spent on that beyond the median of the others, a step."""
    gain_us_per_step: Us
    """What a step would gain without that excess, by a replay of all ranks: each one's own time
    passes as recorded, less the excess, and every collective ends its transfer after the last rank
    came. Of messages that name no ranks: by how much it was later than the next, as far as the
    excess explains it."""
    finding: str | None
    """Rule of the most expensive finding of this rank about that module, else of all."""


class RankGroup(Struct, frozen=True, kw_only=True):
    """A process group whose description names a dimension of the run."""

    id: int
    name: str
    """As the program described it, such as `mesh_tp`."""
    dimension: str
    """pipeline, tensor, data, context or expert."""
    ranks: list[int]
    """Its ranks in this run, ascending."""


class UnreadableRank(Struct, frozen=True, kw_only=True):
    """A trace of the run that could not be read."""

    path: str
    reason: str


class Run(Struct, frozen=True, kw_only=True):
    """A run: its ranks, the collectives between them, who came late, and why."""

    schema: int = 1
    path: str
    world_size: int | None
    """As the traces say; null where none does, or they differ."""
    ranks: list[Rank]
    steps: list[RankStep]
    collectives: list[Collective]
    stragglers: list[Straggler]
    """Most waited for first; empty where no rank is late in most steps."""
    groups: list[RankGroup]
    """Those with collectives in the traces; empty where no description names a dimension."""
    missing_ranks: list[int]
    """Ranks below the world size that have no trace here."""
    unreadable: list[UnreadableRank]
    unmatched: Count
    """Collectives of single ranks without a counterpart."""
    clock_spread_us: Us | None
    """How far the ranks' clocks are known: half of the middle 90% of the differences, the worst
    rank's; null with one rank, or where they share no collective."""
    warnings: list[str]
    replay_error: Share | None = None
    """By how much the replay of the run as it was differs from its recorded length; null where no
    straggler's gain was replayed."""
