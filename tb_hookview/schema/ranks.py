"""A run of many ranks as types."""

from __future__ import annotations

from msgspec import Struct

from tb_hookview.schema.terms import Bytes, Count, Share, Us


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
    """Duration of a step on the host; null without a measured step, as what follows."""
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


class StragglerReason(Struct, frozen=True, kw_only=True):
    """What a straggler spends more time on than the others."""

    reason: str
    """module, data, optimizer, sync or host."""
    module: str | None
    """Path of the module; null where it is no module."""
    phase: str | None
    """forward or backward: in which of the two most of that time is; null where it is no module."""
    excess_us: Us
    """Time beyond the lower median of the others, per step."""


class StageWork(Struct, frozen=True, kw_only=True):
    """Microbatches on which a stage of a pipeline works longer than the other stages do."""

    stage: Count
    """As the schedule numbers it (`PP:2F0`), else the place of its rank in the pipeline; from 0."""
    direction: str
    """forward or backward: the pass in which they take longer."""
    microbatches: list[int]
    """Numbers within the step, from 0: those of a quarter of the largest excess or
    more."""
    of_microbatches: Count
    """All of that pass in a step."""
    time_us: Us
    """Host time of one of them without waits for messages, the median."""
    usual_us: Us
    """The lower median of what one takes the other stages."""


class Straggler(Struct, frozen=True, kw_only=True):
    """A rank for which the others wait in most steps; the rows before it are taken to be fixed."""

    id: int
    rank: int
    wait_caused_us: Us
    """What the ranks with which it has collectives wait longer than it does, their mean, per step.
    With the stragglers before it fixed, by a replay of all ranks."""
    share: Share
    """That over the mean step of the run."""
    steps: Count
    """Steps in which it is late, by the same."""
    of_steps: Count
    """Steps that were compared."""
    module: str | None
    """Module on which it spends most of the excess; null where it is no module."""
    reason: str | None
    """module, data, optimizer, sync or host, of most of the excess; null for unknown."""
    excess_us: Us | None
    """Time it spends on that beyond the lower median of the others, per step; null for unknown."""
    reasons: list[StragglerReason]
    """All that it spends more time on, the largest first."""
    stage: StageWork | None
    """On which microbatches, of a stage of a pipeline on the CPU; null where none of its passes
    explains a quarter of what it spends more time on."""
    gain_us_per_step: Us
    """What a step gains without all of that, the stragglers before it fixed too, by a replay of all
    ranks: what each one does itself takes as long as recorded, less the excess, and every
    collective ends its transfer after the last rank came. Where messages name no ranks: by how
    much it is later than the next, as far as the excess explains it."""
    left_step_us: Us
    """Mean step that is left with it and those before it fixed."""
    finding: str | None
    """Rule of the most expensive finding of this rank about that module, or of data loading or the
    optimizer where that is the reason; null where there is none."""


class RankGroup(Struct, frozen=True, kw_only=True):
    """A process group whose description names a dimension of the run."""

    id: int
    name: str
    """As the program described it, such as `mesh_tp`."""
    dimension: str
    """pipeline, tensor, data, context or expert."""
    ranks: list[int]
    """Its ranks in this run, ascending."""


class Pipeline(Struct, frozen=True, kw_only=True):
    """Ranks that pass microbatches on as messages: the stages of one pipeline."""

    id: int
    ranks: list[int]
    """Ascending; one stage each, or several where stages are interleaved."""
    microbatches: float | None
    """Forwards of a rank per step, by the ranges of its schedule (`Forward 3`, `PP:0F3`,
    `forward-compute`), else by its messages in a chain of ranks: a message each way for each
    microbatch. With v stages per rank v for each microbatch. Null for unknown."""
    bubble: Share
    """Time per step in which a rank does nothing but wait in messages, over the step; mean of the
    ranks."""
    ideal_bubble: Share | None
    """(p - 1) / (m + p - 1) of p ranks and m `microbatches`: what even stages leave idle in GPipe's
    schedule and 1F1B, in a step of nothing else. Null where m is unknown."""
    bubbles: list[Share]
    """`bubble` of each rank."""
    compute_us: list[Us | None]
    """As in `ranks`, of each rank: stages are even where these are."""


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
    """Every one in order, each found with those before it fixed; empty where no rank is late in
    most steps."""
    groups: list[RankGroup]
    """Those with collectives in the traces; empty where no description names a dimension."""
    pipelines: list[Pipeline]
    """Empty where no rank has messages from point to point."""
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
