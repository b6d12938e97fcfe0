"""A run as its page shows it: bounded, whatever the number of ranks and collectives."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from tb_hookview.schema.ranks import Pipeline, Straggler, UnreadableRank
from tb_hookview.schema.terms import Bytes, Count, GbPerS, Us

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
    """Sum over them of the mean wait of a rank."""
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
    """Median of their bus bandwidths, 10^9 bytes a second."""
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
    """As of `hookview ranks`: how far the ranks' clocks are known."""
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
    """When it came, on the clock of the run's first rank, since the begin of what is shown."""
    wait_us: Us
    """How long it waited for the straggler: its duration beyond the transfer, which follows."""
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
    """Since the begin of the window."""
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
