"""A run of many ranks, and its views, as types."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from tb_hookview.schema.terms import Bytes, Count, GbPerS, Share, Us


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
    """A step by the slower of host and device, as `verdict.step_us` of the rank's own report; on
    the host's clock where that is null, on the device's where it is far behind, as `duration_us` of
    `rank_steps`. Null without a measured step, as what follows."""
    compute_us: Us | None
    """Something ran that is no collective: on a device (copies and sets too, which the compute time
    of `devices` leaves out) or, without one, an operator or a compiled graph. Null where only other
    ranks' traces show device events."""
    communication_us: Us | None
    """A collective ran, waiting for other ranks included. Null, as the next, where the trace of one
    of several ranks shows no collective at all."""
    exposed_communication_us: Us | None
    """The part of it in which nothing computed."""
    idle_us: Us | None
    """Nothing computed and no collective ran. Null where only other ranks' traces show any
    collective."""
    wait_us: Us | None
    """Waiting for other ranks in matched collectives: durations beyond the shortest of the ranks.
    Time in which its kernel ran on after the last rank had come and the others had left is no
    wait, if the clocks agree within 1 ms and it is over 0.1 ms and over ten times their spread.
    Time in which it waited in several at once counts once; a delay for which it waits in one after
    the other counts in each, unlike in `wait_caused_us` of a straggler. Of messages that name no
    ranks (gloo's): what they took beyond the least of all ranks in the step. Null where nothing is
    matched; a step none of whose collectives is matched is not in the mean."""
    clock_offset_us: Us | None = None
    """By how much its clock is ahead of the first rank's: median difference of the ends of the
    collectives that both took part in. Null where no chain of collectives leads from one to the
    other."""
    clock_spread_us: Us | None = None
    """How far that is known: half of the narrowest range of four fifths of these differences, the
    largest on the way from the first rank."""


class RankStep(Struct, frozen=True, kw_only=True):
    """One step of one rank."""

    id: int
    rank_id: int
    name: str
    start_us: Us
    """On the clock of the rank's own trace."""
    duration_us: Us
    """From the start of a measured step on the host to that of the next one. Where the device takes
    longer for the measured steps than the host, or is behind it by over a fifth of a mean step at
    the ends of all, each lasts from the end of its work for the step before to the end of that for
    this one."""
    compute_us: Us | None
    """As in `ranks`."""
    communication_us: Us | None
    """As in `ranks`."""
    exposed_communication_us: Us | None
    """As in `ranks`."""
    idle_us: Us | None
    """As in `ranks`."""
    wait_us: Us | None
    """As in `ranks`, of collectives that the step launched, though they begin after it; of those
    that began in it where launches are unknown, or hosts run them. Null where it has some and none
    of them is matched."""
    counts: bool
    """Whether it is one of the measured steps that means of the rank are over."""


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
    """Step that launched it on the first rank that took part, as of `rank_steps`; null for none."""
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
    """Mean over the other ranks of how much their duration exceeds the shortest, as in `ranks`."""
    new_wait_us: Us
    """The part of it that earlier collectives of the same ranks have not shown: where no host waits
    in between, a rank that was late once comes as late to the next ones."""
    late_rank: int | None
    """The rank with the shortest duration: it came last. Null where the others waited too little
    for that, and of a collective with a root (broadcast, reduce, gather, scatter), whose ranks do
    not leave together."""
    late_start_us: Us | None
    """Its start on that rank, on the clock of that rank's own trace."""
    late_module: str | None
    """Module on which it spent more time than the others since their last collective, or since the
    start of the step where they had none before; null for none, and where that explains less than a
    quarter of `new_wait_us`."""
    late_reason: str | None
    """What it spent that time on: module, data, optimizer, sync, host, device; null for unknown.
    It is host, too, where none of these is long enough and its device waited for launches."""
    late_by_us: Us | None
    """Time of the straggler before it, less that of the next latest; null for unknown."""
    bus_gb_per_s: float | None
    """Bytes over transfer time by the factor of nccl-tests for its kind, 10^9 bytes per second."""


class StragglerReason(Struct, frozen=True, kw_only=True):
    """What a straggler spends more time on than the others."""

    reason: str
    """module, data, optimizer, sync, host or device."""
    module: str | None
    """Path of the module; null where it is no module."""
    phase: str | None
    """forward or backward: in which of the two most of that time is; null where it is no module."""
    excess_us: Us
    """Time beyond the lower median of the others, per step; between collectives on a device no more
    than what passed since all had left the last one. Of a device no more than since the step's
    first collective: what the others ran while they waited in one takes them as long."""


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
    """A rank for which the others wait in most steps; the rows before it are taken to be fixed. In
    few steps that may be chance (`sure`)."""

    id: int
    rank: int
    wait_caused_us: Us
    """How much longer the ranks that share collectives with it wait than it does, mean per step.
    One delay counts once: where no host waits for its device, a straggler is as late at the next
    collectives too; a rank that comes early, where most of the others come together, waits for none
    of them. With the stragglers before it fixed, by a replay of all ranks."""
    share: Share
    """That over the mean of the steps that are compared."""
    steps: Count
    """Steps in which it is late, by the same."""
    of_steps: Count
    """Steps that were compared."""
    module: str | None
    """Module on which it spends most of the excess; null where it is no module."""
    reason: str | None
    """module, data, optimizer, sync, host or device, of most of the excess; null for unknown."""
    excess_us: Us | None
    """Time it spends on that beyond the lower median of the others, per step; null for unknown."""
    reasons: list[StragglerReason]
    """All that it spends more time on, the largest first, from 1% of `wait_caused_us` on; none
    where that is less than a quarter of it."""
    stage: StageWork | None
    """On which microbatches, of a stage of a pipeline on the CPU; null where none of its passes
    explains a quarter of what it spends more time on."""
    gain_us_per_step: Us
    """How much shorter a step is without all of that, with the stragglers before it fixed too, by a
    replay of all ranks: each one's own work takes as long as recorded, less the excess, and every
    collective ends its transfer after the last rank came. Where messages name no ranks: by how
    much it is later than the next, as far as the excess explains it."""
    left_step_us: Us
    """Mean step that is left with it and those before it fixed."""
    finding: str | None
    """The rule that explains most of that: by which findings about that module, or about the reason
    where that is no module, cost this rank more than the lower median of other ranks, three at
    most. Of a straggler by its host that is the devices' idle time, of one by its device the work
    that could be avoided. Null where that is less than a quarter of `wait_caused_us`."""
    sure: bool = True
    """Whether that is more than chance; else it is late in all of `of_steps`, which are too few to
    rule chance out. A single step never is enough."""


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
    """Every one in order, each found with those before it fixed; of too few steps to rule out
    chance the latest alone. Empty where no rank is late in most steps."""
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
    """Uncertainty of the ranks' clocks: half of the narrowest range of four fifths of the
    differences, of the worst rank; null with one rank, or where they share no collective."""
    warnings: list[str]
    replay_error: Share | None = None
    """By how much the replay of the run as it was differs from its recorded length; null where no
    straggler's gain was replayed."""
    suspect: int | None = None
    """A rank that is late in all measured steps, by 3% of a step or more on average, in too few
    steps to rule out chance: the first of `stragglers`, or where that is late in the only step, as
    late there as another. Null where there is none, or a straggler beyond chance."""
    suspect_wait_us: Us | None = None
    """How much longer the ranks that share collectives with `suspect` wait than it does, mean per
    step; one delay counts once, as in its `wait_caused_us`. Null without one."""
    marked: bool = True
    """Whether a trace marks steps; else each trace is one step, and times per step are of it."""


# A run as its page shows it: bounded, whatever the number of ranks and collectives.


Quantity = Literal["duration", "compute", "communication", "exposed", "idle", "wait"]
"""`NAME_us` of a step; `exposed` is `exposed_communication_us`."""

ActivityKind = Literal["module", "data", "optimizer", "sync", "ranks", "other"]
"""What a rank was doing: a module, its data loader, its optimizer, waiting for its device, waiting
for other ranks, anything else."""


class Balance(Struct, frozen=True, kw_only=True):
    """Process groups of one name: means over the ranks that have the same place in theirs."""

    id: int
    name: str
    """As the program described the groups, such as `mesh_pp`."""
    dimension: str
    """pipeline, tensor, data, context or expert."""
    groups: Count
    """Number of groups of that name."""
    ranks: list[Count]
    """Ranks at each place: the first of the groups, the second, ... In a pipeline a place is a
    stage."""
    compute_us: list[Us | None]
    """As in `ranks`, mean over the ranks of a place."""
    communication_us: list[Us | None]
    """As in `ranks`, mean over the ranks of a place."""
    idle_us: list[Us | None]
    """As in `ranks`, mean over the ranks of a place."""
    wait_us: list[Us | None]
    """As in `ranks`, mean over the ranks of a place."""


class CollectiveKind(Struct, frozen=True, kw_only=True):
    """Matched collectives of one kind."""

    id: int
    name: str
    """`all_reduce`, ...; "" for unknown."""
    count: Count
    """Number of matched collectives."""
    bytes: Bytes | None
    """Sum of what is known; null where nothing is."""
    transfer_us: Us
    """Sum over them."""
    wait_us: Us
    """Sum over them of the mean wait of a rank; a delay counts in each that it delays."""
    transfers: list[Count]
    """Number of them by transfer time, between the `edges_us` of the run."""
    waits: list[Count]
    """The same by wait; those below the first edge are in the first."""


class CollectiveSize(Struct, frozen=True, kw_only=True):
    """Matched collectives of one kind, size and number of ranks, with known bandwidth."""

    id: int
    name: str
    bytes: Bytes
    """Bytes of the whole operation."""
    ranks: Count
    """Number of ranks that took part."""
    count: Count
    """Number of such collectives."""
    transfer_us: Us
    """Median of their transfer times."""
    bus_gb_per_s: GbPerS
    """Median of their bus bandwidths, 10^9 bytes per second."""
    max_bus_gb_per_s: GbPerS
    """Bus bandwidth of the fastest."""


class RunOverview(Struct, frozen=True, kw_only=True):
    """A run without its steps and single collectives, which are tables and matrices."""

    run: str
    nothing: str | None
    """What is to be recorded where the run says nothing about ranks; null where it does."""
    world_size: int | None
    """As the traces say; null where none does, or they differ."""
    ranks: list[int]
    """Numbers of the ranks, as all columns of ranks are ordered."""
    workers: list[str]
    """Worker of each rank, as `api/runs` names it."""
    start_us: list[Us]
    """First moment of each rank's trace, on its own clock."""
    marked: bool
    """As of `hookview ranks`: whether a trace marks steps."""
    step_us: Us | None
    """Mean duration of a step over the ranks; null without one that counts, as what follows."""
    wait_us: Us | None
    """Mean time per step in which a rank waited for others."""
    sentence: str
    """What holds up the run: its first straggler, else how a step is spent."""
    compute_us: Us | None
    """Mean over the ranks of `compute_us` per step, as what follows."""
    exposed_communication_us: Us | None
    """Communication in which nothing computed."""
    idle_us: Us | None
    """Nothing computed and no collective ran."""
    steps: list[str]
    """Names of all steps, in their order."""
    stragglers: list[Straggler]
    """As of `hookview ranks`: each found with those before it fixed."""
    pipelines: list[Pipeline]
    """The first of those of the run."""
    edges_us: list[Us]
    """Edges between which collectives are counted: each the same multiple of the one before."""
    kinds: list[CollectiveKind]
    """Those that took longest first."""
    sizes: list[CollectiveSize]
    """Most frequent first."""
    sizes_left_out: Count
    """Sizes after the last one here."""
    balance: list[Balance]
    collectives: Count
    """Collectives that were matched."""
    unmatched: Count
    """Collectives of single ranks without a counterpart."""
    missing_ranks: list[int]
    """The first of those below the world size that have no trace here."""
    missing: Count
    """All of them."""
    unreadable: list[UnreadableRank]
    """The first of the traces that cannot be read."""
    unreadable_traces: Count
    """All of them."""
    clock_spread_us: Us | None
    """Uncertainty of the ranks' clocks, as in `hookview ranks`."""
    warnings: list[str]


class StepMatrix(Struct, frozen=True, kw_only=True):
    """Quantities of steps by ranks."""

    offset: Count
    """Steps before the first one here."""
    left_out: Count
    """Steps after the last one here."""
    steps: list[str]
    values: dict[str, list[list[Us | None]]]
    """By quantity: for each step one value for each rank, in the order of `ranks` of the run; null
    where the rank's trace has no such step."""


class RankPart(Struct, frozen=True, kw_only=True):
    """One rank in a collective."""

    rank: int
    own_start_us: Us
    """When it came, on the clock of its own trace."""
    start_us: Us
    """When it came, on the clock of the run's first rank, since the start of what is shown."""
    wait_us: Us
    """How long it waited for the straggler, as in `ranks`; the transfer follows."""
    late: bool
    """Whether it came last."""


class CollectiveRanks(Struct, frozen=True, kw_only=True):
    """One collective on some of the ranks that took part, on the clock of the run's first rank."""

    refused: str | None
    """Why they cannot be shown on one clock, in one line; null where they can."""
    length_us: Us
    """Time that is shown: the collective, and half of its length before it and after it."""
    transfer_us: Us
    """As in `collectives`."""
    clock_spread_us: Us | None
    """Largest `clock_spread_us` of these ranks: how far moments of different ranks are comparable.
    Null where one is unknown."""
    offset: Count
    """Ranks before the first one here, the straggler not counted: it is always here."""
    left_out: Count
    """Ranks after the last one here."""
    ranks: list[RankPart]
    """Empty where it is refused."""


class ActivitySpan(Struct, frozen=True, kw_only=True):
    """Columns of a window in which a rank was doing one thing for most of the time."""

    start_us: Us
    """Since the start of the window."""
    duration_us: Us
    """How long these columns are together."""
    kind: ActivityKind
    module: str | None
    """Its path, the innermost that ran; null for what is no module."""


class ActivityLane(Struct, frozen=True, kw_only=True):
    """What the host or the devices of a rank did; where there is no span, nothing ran."""

    name: str
    """host or device; collectives are not in the latter."""
    spans: list[ActivitySpan]


class RankActivity(Struct, frozen=True, kw_only=True):
    """What one rank ran around a collective, in the window of `CollectiveRanks`."""

    rank: int
    lanes: list[ActivityLane]
    """Of the host and, where the trace has a device, of its devices."""
