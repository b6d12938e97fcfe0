"""A watched training run over all its steps, as types."""

from __future__ import annotations

from msgspec import Struct

from tb_hookview.schema.terms import Bytes, Count, MeanCount, Seconds, Times, Us


class WatchedRank(Struct, frozen=True, kw_only=True):
    """One rank of a watched training run; durations are medians over its measured steps."""

    id: int
    rank: int
    worker: str
    """First part of its files' names."""
    steps: Count
    """Rows of its files."""
    measured_steps: Count
    """Steps that medians are over: without recorded ones, their warm-up, the step after them, and
    the first five."""
    phase_steps: Count
    """Steps in which forward, backward and optimizer were timed: some of those below 10 ms."""
    block_steps: Count
    """Steps in which the blocks were timed: some of short ones, as it takes time."""
    lost_lines: Count
    """Lines that are no rows: of a write that broke off."""
    missing_steps: Count
    """Numbers between its first and its last step without a row."""
    blocks: list[str]
    """Blocks of the model, in forward order."""
    step_us: Us | None
    """Duration of a step; null without a measured step, as what follows."""
    data_us: Us | None
    """Waiting for a `DataLoader`; null where none was used, as with what follows."""
    forward_us: Us | None
    """In the model's own call."""
    backward_us: Us | None
    """From the beginning of the backward pass to the last gradient of a block."""
    after_backward_us: Us | None
    """From there to the end of the pass: waiting for the gradients' reduction."""
    optimizer_us: Us | None
    """In optimizers' `step`."""
    gc_us: Us | None
    """In garbage collections, mean per step."""
    memory_bytes: Bytes | None
    """Most memory of its device, or of the process where it has none."""


class WatchedStep(Struct, frozen=True, kw_only=True):
    """One step of one rank of a watched training run."""

    id: int
    rank_id: int
    rank: int
    step: int
    time_s: Seconds
    """End of the step, seconds since the epoch by the machine's clock."""
    duration_us: Us
    """From the end of the step before it."""
    data_us: Us | None
    """As in `watched_ranks`, as what follows."""
    forward_us: Us | None
    backward_us: Us | None
    after_backward_us: Us | None
    optimizer_us: Us | None
    gc_us: Us | None
    gc_count: Count
    """Garbage collections."""
    recording: str | None
    """warmup, recorded or after: what a recording did in the step."""


class WatchedBlock(Struct, frozen=True, kw_only=True):
    """One block of the model in one step of one rank."""

    id: int
    rank_id: int
    rank: int
    step: int
    block: str
    """Path of the module; `first..last` of neighbours."""
    forward_us: Us | None
    """Null where blocks were not timed in the step, as what follows."""
    backward_us: Us | None
    """From the last gradient of the block before it in the pass to its own last gradient."""


class WatchedRecording(Struct, frozen=True, kw_only=True):
    """One recording of one rank."""

    id: int
    rank: int
    file: str
    """Name of the trace file."""
    worker: str
    kept: bool
    """Whether the file is still there."""
    start: int
    """First step that is recorded."""
    steps: Count
    """Steps that are recorded."""
    reason: str
    """What asked for it: start, slow, every, signal, file or call."""
    asked_by: int | None
    """Rank that asked."""
    ratio: Times
    """How slow the steps were that asked, over the running median; 0 where another reason did."""


class Cause(Struct, frozen=True, kw_only=True):
    """What took longer than in the median step."""

    rank: int
    part: str
    """data, forward, backward, optimizer, garbage collection or other."""
    block: str | None
    """Block of the model, of forward and backward; null where no block did."""
    excess_us: Us
    """By how much, mean over the slow steps."""


class SlowSteps(Struct, frozen=True, kw_only=True):
    """Steps in a row that were slow, by the slowest rank. Either the length of a step rose by a
    fifth or more above that of the latest 201 steps on the level before, and stayed so for some 30
    steps; or they are above 1.3 times the median of the 101
    steps before them that were not slow, and beyond five times their spread (the median deviation
    times 1.48), with up to five other steps in between. The 101 steps are of the same level."""

    id: int
    first: int
    last: int
    lasting: bool
    """Whether the length of a step rose and stayed so, until it was back or rose further."""
    steps: Count
    """Slow steps among them; all, where it lasted."""
    step_us: Us
    """Median duration."""
    median_us: Us
    """The median that they are compared with."""
    excess_us: Us
    """Time beyond that median, all of them together."""
    causes: list[Cause]
    """What took longer, the most expensive first."""
    recording_id: int | None
    """The recording of the steps, else the nearest one before or after them whose file is there; of
    the rank that took longest, where that one made it. Null without any."""


class SlowRank(Struct, frozen=True, kw_only=True):
    """A rank that takes longer than the others for something, over the whole run."""

    id: int
    rank: int
    part: str
    """As in `causes`."""
    block: str | None
    excess_us: Us
    """By how much more than the median of the other ranks, per step."""
    windows: Count
    """Parts of the run in which it did."""
    of_windows: Count
    """Parts of the run that were compared."""


class HistoryPoints(Struct, frozen=True, kw_only=True):
    """The training in as many parts as a picture has room for; a list has one value for each."""

    first: list[int]
    """First step."""
    last: list[int]
    """Last step."""
    min_us: list[Us | None]
    """Shortest step of any rank; null without a measured step, as what follows."""
    median_us: list[Us | None]
    """Median step of all ranks."""
    max_us: list[Us | None]
    """Longest step of any rank."""
    ranks: dict[str, list[Us | None]]
    """Median step by rank, of at most 16 ranks: those that differ most."""
    parts: dict[str, list[Us | None]]
    """Mean over ranks of the medians of data, forward, backward, after_backward, optimizer,
    garbage collection and other, which is the rest of the step."""
    forward: dict[str, list[Us | None]]
    """By block, mean over ranks."""
    backward: dict[str, list[Us | None]]
    """By block, mean over ranks."""


class History(Struct, frozen=True, kw_only=True):
    """A watched training run."""

    schema: int = 1
    path: str
    world_size: Count
    """Ranks of the run, by its process group."""
    missing_ranks: list[int]
    """Ranks without a file."""
    earlier: Count
    """Watches of the same ranks that began earlier, and are left out."""
    first_step: int
    last_step: int
    step_us: Us | None
    """Median of the ranks' medians; null without a measured step."""
    gc_per_step: MeanCount | None
    """Garbage collections per step, mean over ranks."""
    ranks: list[WatchedRank]
    points: HistoryPoints
    recordings: list[WatchedRecording]
    slow_steps: list[SlowSteps]
    """The most expensive first, 100 at most."""
    slow_steps_total: Count
    """Slow steps in all."""
    slow_excess_us: Us
    """Time by which all of them together were longer than the medians before them."""
    slow_ranks: list[SlowRank]
    """The worst first."""
