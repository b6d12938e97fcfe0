"""The comparison of two reports, or of two runs, as types.

All numbers are per step, times in microseconds. A row has the ids of what it compares in both
reports, `base_id` and `other_id`, None on a side without it; of syncs, that of the first of the
call site. Its own `id` is these two, "3|4".
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Struct

from tb_hookview.schema.findings import Bound
from tb_hookview.schema.ranks import Straggler
from tb_hookview.schema.terms import UNIT, Count, Times, Us

Status = Literal["appeared", "vanished", "moved", "changed", "same", "unlisted", "unknown"]
"""`appeared` and `vanished`: on one side alone, where it costs nothing on the other; `moved`: at
another place; `unlisted`: the other side's table of kernels was cut before it; `unknown`: the other
side's trace names no modules at all, or on one side calls of the module are not seen
(`modules[].forward`), or what it did there holds what such a module did."""


class Pair(msgspec.Struct, frozen=True):
    """One number on both sides; null where a side does not have it."""

    base: float | None
    other: float | None
    change: float | None
    """`other` less `base`; what is on one side alone costs nothing on the other."""


UsPair = Annotated[Pair, msgspec.Meta(extra_json_schema={UNIT: "us"})]
CountPair = Annotated[Pair, msgspec.Meta(extra_json_schema={UNIT: "count"})]


BytesPair = Annotated[Pair, msgspec.Meta(extra_json_schema={UNIT: "bytes"})]


class Spread(msgspec.Struct, frozen=True):
    """A number of the compared steps of one side, one value for each step."""

    median_us: Us
    """Median over the steps."""
    min_us: Us
    """The least of a step."""
    max_us: Us
    """The most of a step."""


class SpreadPair(msgspec.Struct, frozen=True):
    """How a number varies from step to step on both sides."""

    base: Spread | None
    """Null where a step does not hold the number."""
    other: Spread | None
    within_noise: bool | None
    """Whether the median of each side lies in the range of the other, so that the difference may be
    noise. Null where a side has fewer than two steps."""


class MemoryChange(msgspec.Struct, frozen=True):
    """Peak memory of one device in the compared steps; of traces that record memory."""

    id: str
    """The device as `torch.device` spells it."""
    status: Status
    allocated_bytes: BytesPair
    """Most bytes that were allocated at a time."""
    reserved_bytes: BytesPair
    """Most bytes that the allocator held at the peak of a step."""


class ModuleChange(msgspec.Struct, frozen=True, rename={"module_class": "class"}):
    """One module, its own work without that of the modules below it.

    A module is found again by path and class; a stack's label (`Linear_3`), whose numbers are
    counted again in every process, by class and order; else by the longest end of its path that
    names one module of its class on each side, without parts such as `module` and `_orig_mod`,
    which a wrapper puts in.
    """

    id: str
    base_id: int | None
    other_id: int | None
    path: str
    """On the other side where it is there, else on the base's."""
    module_class: str
    status: Status
    forward_us: UsPair
    """Self time of the forward, by `measure`: as `forward.self_compute_us`, or `self_host_us`."""
    backward_us: UsPair
    """Self time of the backward, by `measure`, as that of the forward."""
    syncs: CountPair
    """In the module and those below it."""
    sync_blocked_us: UsPair
    """In the module and those below it."""
    sync_idle_us: UsPair
    """Idle time of the devices because of these syncs; see `modules[].sync.device_idle_us`."""
    base_path: str | None = None
    other_path: str | None = None

    @property
    def effect_us(self) -> float:
        """Change of the module's own forward and backward together, in microseconds."""
        return abs((self.forward_us.change or 0.0) + (self.backward_us.change or 0.0))


class Site(msgspec.Struct, frozen=True):
    """The call site of syncs."""

    module: str | None
    module_id: int | None
    node: str | None
    operator: str | None
    frame: str | None
    """The innermost frame that is not torch's own, `file.py(line): function`."""


class SyncChange(msgspec.Struct, frozen=True):
    """Syncs of one cause and call site: module, node, operator and frame without its line."""

    id: str
    base_id: int | None
    other_id: int | None
    cause: str
    status: Status
    base_site: Site | None
    other_site: Site | None
    count: CountPair
    """Syncs."""
    blocked_us: UsPair
    """Sum of their durations."""
    device_idle_us: UsPair
    """Device idle time that they caused."""


class KernelChange(msgspec.Struct, frozen=True):
    """Device work of one name."""

    id: str
    base_id: int | None
    other_id: int | None
    name: str
    kind: str
    event: str
    status: Status
    count: CountPair
    """Device events."""
    total_us: UsPair
    """Sum of their durations."""


class FindingChange(msgspec.Struct, frozen=True):
    """One finding: gone, new, or of another cost.

    A finding is found again by rule and place, else by rule and module, else by rule where it is
    there once on each side.
    """

    id: str
    base_id: str | None
    other_id: str | None
    rule: str
    title: str
    fix: str
    status: Status
    base_where: str | None
    other_where: str | None
    base_module: str | None
    base_module_id: int | None
    other_module: str | None
    other_module_id: int | None
    cost_us: UsPair
    """`cost_us_per_step` of the finding."""
    gain_us: UsPair
    """`gain_us_per_step` of the finding."""
    once_us: UsPair
    """`once_us` of the finding: what happens once is spent in no other step."""


class Side(msgspec.Struct, frozen=True):
    """The trace of one side of the comparison."""

    path: str
    steps: Count
    """Steps that its means are over; see `per_step`."""
    step_names: list[str] = []
    of: Count = 0
    """Steps of the trace."""
    text: str = ""
    """`per_step.text`: which steps its means are over, and why others are left out."""
    marked: bool = True
    """Whether the trace marks steps; else its numbers are of all of it."""
    bound: Bound | None = None
    """`verdict.bound`. Where it is `unknown` on one side alone, as for a bare recording on a CPU,
    fewer rules apply to that side: not all findings that appear are new."""
    warnings: list[str] = []
    """What makes its figures wrong: the trace's warnings of high severity, in short."""


class Comparison(msgspec.Struct, frozen=True):
    """The difference of two reports: means per step, and the other side less the base."""

    schema: int
    measure: str
    """ "device" where both traces hold the device time of their backward pass, or of a forward
    without one, else "host"."""
    base: Side
    other: Side
    step_us: UsPair
    """Mean length of a step on the host."""
    forward_us: UsPair
    """Time of the forward, by `measure`: `totals.forward_compute_us` or `steps[].forward_us`."""
    backward_us: UsPair
    """Time of the backward, by `measure`: as `coverage.backward_device_us` less its communication,
    which `device_us_by_kind` has, or its host time. With that of the modules and
    `backward_unattributed_us` it adds up."""
    backward_unattributed_us: UsPair
    """The part of it that belongs to no module."""
    syncs: CountPair
    """Syncs, without the profiler's own."""
    sync_blocked_us: UsPair
    """Sum of their durations."""
    modules: list[ModuleChange]
    """Those that changed most first, as in each of the tables below."""
    whole_step_us: UsPair = Pair(None, None, None)
    """Mean length of a step on the device, `verdict.step_us`, where it is longer there than on the
    host, and the step is bound by device or communication (`verdict.bound`) or their work alone
    takes longer; else as `step_us`: in a host-bound loop the device catches up in the next step."""
    unrecorded_step_us: UsPair = Pair(None, None, None)
    """`verdict.unrecorded_step_us`: steps without what recording cost, an estimate. Null where that
    made neither side's step 5% longer or more: then recorded steps can be compared as they are."""
    speedup: Times | None = None
    """`whole_step_us.base` divided by `whole_step_us.other`: 2 is twice as fast. Null where a side
    has no steps."""
    phases_us: dict[str, UsPair] = {}
    """The host's phases, which sum to `step_us`."""
    device_busy_us: UsPair = Pair(None, None, None)
    """Time in which the devices did any work, summed over them."""
    device_idle_us: UsPair = Pair(None, None, None)
    """Time in which they did none."""
    idle_us: dict[str, UsPair] = {}
    """`device_idle_us` by its cause, summing to it; empty where neither side has it."""
    device_us_by_kind: dict[str, UsPair] = {}
    """All device work by its kind."""
    sync_sites: list[SyncChange] = []
    """By cause and call site. They sum to `syncs` and `sync_blocked_us`, which leave out the
    profiler's own call."""
    kernels: list[KernelChange] = []
    """Device work by name; with `kernels_omitted_us` it sums to `device_us_by_kind`."""
    kernels_omitted_us: UsPair = Pair(None, None, None)
    """Device work of the names that a side's table of kernels leaves out."""
    findings: list[FindingChange] = []
    spread: dict[str, SpreadPair] = {}
    """Of `duration_us` and the other times of `steps`, by the field's name."""
    memory: list[MemoryChange] = []
    """Peaks by device; empty where neither trace records memory."""


class Compared(msgspec.Struct, frozen=True):
    """Changes between two traces, with the names of all steps of each."""

    comparison: Comparison
    base_steps: list[str]
    other_steps: list[str]


# The comparison of two runs of many ranks as types. All times are means of a step.


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
    """Collectives of one name, size and number of ranks, over the whole of both runs.

    Fewer than one per step are left out where others of that name and size have more ranks: files
    of ranks do not begin and end with the same collective.
    """

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
    marked: bool = True
    """Whether a trace marks steps; else each trace is one step."""


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
