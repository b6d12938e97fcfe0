"""Changes between two reports, as a whole and table by table. All numbers are per step."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec
from msgspec import Struct

from tb_hookview.comparison.sides import (
    Keys,
    RowPair,
    StepMeans,
    each,
    ids,
    module_numbers,
    on_both,
    pair,
    pair_modules,
    pair_up,
    rows_of,
    same_place,
    spread_pair,
    status_of,
    totals,
)
from tb_hookview.schema import (
    SHOWN_PHASES,
    Comparison,
    Finding,
    FindingChange,
    Kernel,
    KernelChange,
    MemoryChange,
    MemoryPeak,
    Module,
    ModuleChange,
    Pair,
    ReportData,
    Side,
    Site,
    Sync,
    SyncChange,
    in_short,
    is_behind,
    own_syncs,
    severe_warnings,
)

# Changes of syncs, kernels, findings and peak memory between two reports.


_FRAMEWORK = re.compile(r"(.*[/\\])?(torch|functorch)[/\\]")
_LINE = re.compile(r"\(\d+\)")
_Row = TypeVar("_Row")


def _pair_rows(
    base: Sequence[_Row], other: Sequence[_Row], keys: Sequence[Keys[_Row]]
) -> list[tuple[_Row | None, _Row | None]]:
    """Pair the rows of two tables, the surest key first."""
    return [rows_of(base, other, match) for match in pair_up(base, other, keys)]


class _SyncGroup(Struct, frozen=True):
    """Syncs of one cause and call site."""

    cause: str
    site: Site
    place: tuple[Hashable, ...]
    """Node, operator, file and function."""
    module: Hashable
    """The number of its module's match; None where there is no module."""
    syncs: list[Sync]

    def blocked_us(self) -> float:
        return sum(sync.duration_us for sync in self.syncs)

    def device_idle_us(self) -> float | None:
        idle = [sync.device_idle_us for sync in self.syncs if sync.device_idle_us is not None]
        return sum(idle) if idle else None


def sync_changes(left: StepMeans, right: StepMeans, modules: Sequence[RowPair]) -> list[SyncChange]:
    """Match syncs by cause and call site, then by the unmoved site parts."""
    numbers = module_numbers(left.report.modules, right.report.modules, modules)
    base, other = (
        _group_syncs(side.report.syncs, known)
        for side, known in zip((left, right), numbers, strict=True)
    )
    keys: list[Keys[_SyncGroup]] = [
        each(lambda group: (group.cause, group.module, group.place)),
        each(lambda group: (group.cause, group.place)),
        each(lambda group: (group.cause, group.site.node, group.site.operator)),
    ]
    changes = [_sync_change(left, right, *rows) for rows in _pair_rows(base, other, keys)]
    return sorted(
        changes, key=lambda row: (-abs(row.blocked_us.change or 0.0), -abs(row.count.change or 0.0))
    )


def _group_syncs(syncs: Sequence[Sync], numbers: dict[int | None, Hashable]) -> list[_SyncGroup]:
    groups: defaultdict[tuple[Hashable, ...], list[Sync]] = defaultdict(list)
    for sync in own_syncs(syncs):
        groups[(sync.cause, sync.module_id, *_place(_site(sync)))].append(sync)
    return [
        _SyncGroup(
            cause=group[0].cause,
            site=(site := _site(group[0])),
            place=_place(site),
            module=numbers.get(site.module_id),
            syncs=group,
        )
        for group in groups.values()
    ]


def _site(sync: Sync) -> Site:
    frames = (frame for frame in sync.stack if not _FRAMEWORK.match(frame))
    innermost = sync.stack[0] if sync.stack else None
    return Site(sync.module, sync.module_id, sync.node, sync.operator, next(frames, innermost))


def _place(site: Site) -> tuple[Hashable, ...]:
    # Without its line: whatever is added above a call moves it down.
    frame = None if site.frame is None else _LINE.sub("", site.frame)
    return (site.node, site.operator, frame)


def _sync_change(
    left: StepMeans, right: StepMeans, base: _SyncGroup | None, other: _SyncGroup | None
) -> SyncChange:
    present = other or base
    assert present is not None  # a match has a row on one side at least

    def both(number: Callable[[_SyncGroup], float | None]) -> Pair:
        return on_both(left, right, base, other, lambda r, group: r.per_step(number(group)))

    count = both(lambda group: len(group.syncs))
    blocked = both(_SyncGroup.blocked_us)
    idle = both(_SyncGroup.device_idle_us)
    stayed = bool(base and other and (base.module, base.place) == (other.module, other.place))
    return SyncChange(
        **ids(base.syncs[0] if base else None, other.syncs[0] if other else None),
        cause=present.cause,
        status=status_of(base, other, moved=not stayed, pairs=(count, blocked, idle)),
        base_site=base.site if base else None,
        other_site=other.site if other else None,
        count=count,
        blocked_us=blocked,
        device_idle_us=idle,
    )


def kernel_changes(left: StepMeans, right: StepMeans) -> list[KernelChange]:
    """Match kernels by name."""
    base, other = left.report.kernels, right.report.kernels
    keys: list[Keys[Kernel]] = [each(lambda kernel: (kernel.name, kernel.kind, kernel.event))]
    changes = [_kernel_change(left, right, *rows) for rows in _pair_rows(base, other, keys)]
    return sorted(changes, key=lambda row: -abs(row.total_us.change or 0.0))


def _kernel_change(
    left: StepMeans, right: StepMeans, base: Kernel | None, other: Kernel | None
) -> KernelChange:
    present = other or base
    assert present is not None  # as above
    count = on_both(left, right, base, other, lambda r, kernel: r.per_step(kernel.count))
    total = on_both(left, right, base, other, lambda r, kernel: r.per_step(kernel.total_us))
    status = status_of(base, other, moved=False, pairs=(count, total))
    absent = left if base is None else right if other is None else None
    if absent is not None and absent.report.kernels_omitted is not None:
        # It may be among those that were left out, so what changed is not known.
        count, total = (msgspec.structs.replace(pair, change=None) for pair in (count, total))
        status = "unlisted"
    return KernelChange(
        **ids(base, other),
        name=present.name,
        kind=present.kind,
        event=present.event,
        status=status,
        count=count,
        total_us=total,
    )


class _Found(Struct, frozen=True):
    finding: Finding
    module: Hashable
    """The number of its module's match; None where there is no module."""


def finding_changes(
    left: StepMeans, right: StepMeans, modules: Sequence[RowPair]
) -> list[FindingChange]:
    """Match findings by rule and place, then by rule and module, then by rule.

    Of several of one rule and place the number in their ids tells which is which.
    """
    numbers = module_numbers(left.report.modules, right.report.modules, modules)
    base, other = (
        [_Found(finding, known.get(finding.module_id)) for finding in side.report.findings]
        for side, known in zip((left, right), numbers, strict=True)
    )
    keys: list[Keys[_Found]] = [
        each(lambda found: (found.finding.rule, found.finding.where, found.finding.id)),
        each(lambda found: None if found.module is None else (found.finding.rule, found.module)),
        each(lambda found: found.finding.rule),
    ]
    changes = [_finding_change(left, right, *rows) for rows in _pair_rows(base, other, keys)]
    return sorted(changes, key=lambda row: -abs(row.cost_us.change or 0.0))


def _finding_change(
    left: StepMeans, right: StepMeans, base: _Found | None, other: _Found | None
) -> FindingChange:
    present = other or base
    assert present is not None  # as above
    before = base.finding if base else None
    after = other.finding if other else None
    cost = on_both(left, right, before, after, lambda _, finding: finding.cost_us_per_step)
    gain = on_both(left, right, before, after, lambda _, finding: finding.gain_us_per_step)
    once = on_both(left, right, before, after, lambda _, finding: finding.once_us)
    stayed = bool(before and after and before.where == after.where)
    return FindingChange(
        **ids(before, after),
        rule=present.finding.rule,
        title=present.finding.title,
        fix=present.finding.fix,
        status=status_of(before, after, moved=not stayed, pairs=(cost, gain)),
        base_where=before.where if before else None,
        other_where=after.where if after else None,
        base_module=before.module if before else None,
        base_module_id=before.module_id if before else None,
        other_module=after.module if after else None,
        other_module_id=after.module_id if after else None,
        cost_us=cost,
        gain_us=gain,
        once_us=once,
    )


def memory_changes(base: ReportData, other: ReportData) -> list[MemoryChange]:
    """Match devices by name; the largest change comes first."""
    left, right = _peaks(base), _peaks(other)
    changes = [_memory_change(device, left, right) for device in dict.fromkeys([*left, *right])]
    return sorted(changes, key=lambda row: -abs(row.allocated_bytes.change or 0.0))


def _peaks(report: ReportData) -> dict[str, list[MemoryPeak]]:
    """Peaks of the compared steps by device; of the whole trace where it shows no steps."""
    steps = {step.id for step in report.steps}
    rows = [row for row in report.memory_peaks if row.step_id in steps] or report.memory_peaks
    found: defaultdict[str, list[MemoryPeak]] = defaultdict(list)
    for row in rows:
        found[row.device].append(row)
    return dict(found)


def _memory_change(
    device: str, left: dict[str, list[MemoryPeak]], right: dict[str, list[MemoryPeak]]
) -> MemoryChange:
    sides = before, after = left.get(device), right.get(device)
    allocated = pair(*(_most(row.allocated_bytes for row in rows or ()) for rows in sides))
    reserved = pair(*(_most(row.reserved_bytes for row in rows or ()) for rows in sides))
    return MemoryChange(
        id=device,
        status=status_of(before, after, moved=False, pairs=(allocated, reserved)),
        allocated_bytes=allocated,
        reserved_bytes=reserved,
    )


def _most(sizes: Iterable[int | None]) -> float | None:
    known = [float(size) for size in sizes if size is not None]
    return max(known, default=None)


_SLOWED = 0.05
"""Share of a recorded step from which on what recording cost it matters to a comparison."""
SPREAD = (
    "duration_us",
    *(f"{phase}_us" for phase in SHOWN_PHASES),
    "device_busy_us",
    "device_idle_us",
    "sync_blocked_us",
)
"""Fields of steps of which the spread is compared."""


def compare(base: ReportData, other: ReportData) -> Comparison:
    """Join two reports on measured steps (`Report.counted`); what changed most comes first.

    `compare(b, a)` is `compare(a, b)` with its sides exchanged; rows that changed equally may
    come in another order.
    """
    measure = "device" if _on_device(base) and _on_device(other) else "host"
    left, right = StepMeans(base, measure), StepMeans(other, measure)
    matches = pair_modules(base.modules, other.modules)
    known = "unknown" not in (base.verdict.bound, other.verdict.bound)
    step = totals(left, right, _whole_step) if known else _mean(left, right, "duration_us")
    return Comparison(
        schema=1,
        measure=measure,
        base=side_of(base),
        other=side_of(other),
        step_us=_mean(left, right, "duration_us"),
        whole_step_us=step,
        unrecorded_step_us=_unrecorded(left, right),
        forward_us=totals(left, right, StepMeans.forward),
        backward_us=totals(left, right, StepMeans.backward),
        backward_unattributed_us=totals(left, right, StepMeans.unattributed),
        syncs=totals(left, right, StepMeans.syncs),
        sync_blocked_us=totals(left, right, StepMeans.blocked),
        modules=_modules(left, right, matches),
        speedup=step.base / step.other if step.base and step.other else None,
        phases_us={phase: _mean(left, right, f"{phase}_us") for phase in SHOWN_PHASES},
        device_busy_us=_mean(left, right, "device_busy_us"),
        device_idle_us=_mean(left, right, "device_idle_us"),
        idle_us=_idle(left, right),
        device_us_by_kind=_by_kind(left.by_kind(), right.by_kind()),
        sync_sites=sync_changes(left, right, matches),
        kernels=kernel_changes(left, right),
        kernels_omitted_us=totals(left, right, StepMeans.omitted_kernels),
        findings=finding_changes(left, right, matches),
        spread={field: spread_pair(left, right, field) for field in SPREAD},
        memory=memory_changes(base, other),
    )


def _whole_step(means: StepMeans) -> float | None:
    data = means.report
    return data.verdict.step_us if is_behind(data) else means.mean("duration_us")


def _unrecorded(left: StepMeans, right: StepMeans) -> Pair:
    found = totals(left, right, lambda r: r.report.verdict.unrecorded_step_us)
    sides = zip((found.base, found.other), map(_whole_step, (left, right)), strict=True)
    slowed = any(us is not None and us < (1 - _SLOWED) * (step or 0.0) for us, step in sides)
    return found if slowed else Pair(None, None, None)


def _on_device(report: ReportData) -> bool:
    """Whether the device did the backward pass; without one, whether it did what is known."""
    coverage = report.coverage
    forward_alone = coverage.backward_device_us is not None and not coverage.backward_host_us
    return coverage.measure == "device" or (forward_alone and bool(report.kernels))


def side_of(report: ReportData) -> Side:
    """The side of a comparison that a report is."""
    names, means = [step.name for step in report.steps], report.per_step
    return Side(
        path=report.trace.path,
        steps=len(names),
        step_names=names,
        of=means.of,
        text=means.text,
        marked=means.marked,
        bound=report.verdict.bound,
        warnings=[in_short(warning) for warning in severe_warnings(report.trace)],
    )


def _mean(left: StepMeans, right: StepMeans, field: str) -> Pair:
    return totals(left, right, lambda reading: reading.mean(field))


def _idle(left: StepMeans, right: StepMeans) -> dict[str, Pair]:
    sides = left.idle(), right.idle()
    causes = dict.fromkeys(cause for side in sides for cause in side or {})
    return {cause: pair(*(side[cause] if side else None for side in sides)) for cause in causes}


def _by_kind(base: Mapping[str, float], other: Mapping[str, float]) -> dict[str, Pair]:
    kinds = dict.fromkeys([*base, *other])
    return {kind: pair(base.get(kind, 0.0), other.get(kind, 0.0)) for kind in kinds}


def _modules(left: StepMeans, right: StepMeans, matches: Sequence[RowPair]) -> list[ModuleChange]:
    base, other = left.report.modules, right.report.modules
    unlike = _of_unlike_work(base, other, matches)
    changes = [
        _module(left, right, *rows_of(base, other, match), alike=number not in unlike)
        for number, match in enumerate(matches)
    ]
    return sorted(changes, key=lambda module: (module.status == "same", -module.effect_us))


def _of_unlike_work(
    base: Sequence[Module], other: Sequence[Module], matches: Sequence[RowPair]
) -> set[Hashable]:
    """Numbers of matches of modules unseen on one side, and of those that hold their work there."""
    numbers, found = module_numbers(base, other, matches), set[Hashable]()
    for match in matches:
        rows = rows_of(base, other, match)
        unseen = [row is not None and row.unseen is not None for row in rows]
        if None in match or all(unseen) or not any(unseen):
            continue
        side = unseen.index(True)
        modules, row = (base, other)[side], rows[side]
        while row is not None:
            found.add(numbers[side][row.id])
            row = None if row.parent_id is None or row.unseen is None else modules[row.parent_id]
    return found


def _module(
    left: StepMeans, right: StepMeans, base: Module | None, other: Module | None, *, alike: bool
) -> ModuleChange:
    present = other or base
    assert present is not None  # a match has a row on one side at least
    absent = left if base is None else right if other is None else None
    known = alike and (absent is None or bool(absent.report.modules))

    def both(number: Callable[[StepMeans, Module], float | None]) -> Pair:
        found = on_both(left, right, base, other, number)
        return found if known else msgspec.structs.replace(found, change=None)

    forward = both(lambda r, m: r.work(m.forward))
    backward = both(lambda r, m: r.work(m.backward))
    syncs = both(lambda r, m: r.per_step(m.sync.count))
    blocked = both(lambda r, m: r.per_step(m.sync.blocked_us))
    moved = base is not None and other is not None and not same_place(base, other)
    pairs = (forward, backward, syncs, blocked)
    return ModuleChange(
        **ids(base, other),
        path=present.path,
        module_class=present.module_class,
        status=status_of(base, other, moved=moved, pairs=pairs) if known else "unknown",
        forward_us=forward,
        backward_us=backward,
        syncs=syncs,
        sync_blocked_us=blocked,
        sync_idle_us=both(lambda r, m: r.per_step(m.sync.device_idle_us)),
        base_path=None if base is None else base.path,
        other_path=None if other is None else other.path,
    )
