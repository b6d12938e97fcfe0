"""Tables of memory: peaks, modules, operators, and allocations that failed."""

from __future__ import annotations

import numpy as np

from tb_hookview import schema
from tb_hookview.analysis.memory.blocks import device_name
from tb_hookview.analysis.memory.live import MemoryClass
from tb_hookview.analysis.memory.operators import (
    activation_lives,
    checkpoint_bound,
    live_by_module,
    operator_memory,
)
from tb_hookview.analysis.memory_use import MemoryUse
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.joins import isin
from tb_hookview.arrays.nesting import innermost_at
from tb_hookview.arrays.sums import sum_by
from tb_hookview.arrays.types import Int, TreeRow, to_us
from tb_hookview.schema import Phase
from tb_hookview.tables.events.names import first_events


def memory_peak_rows(selection: Selection) -> list[schema.MemoryPeak]:
    """The peak of each device, and of each selected step."""
    memory = selection.analysis.memory
    if memory is None:
        return []
    return peaks_of(selection, memory)


def peaks_of(selection: Selection, memory: MemoryUse) -> list[schema.MemoryPeak]:
    """The peaks of the selection's steps and, of a whole trace, that of each device."""
    step = memory.peaks.step
    whole = (step < 0) & (selection.chosen is None)
    kept = np.flatnonzero(whole | isin(step, selection.steps))
    positions = memory.peaks.position[kept]
    classes = memory.classes_at(positions) if memory.addresses_known else [None] * len(kept)
    places = zip(memory.peaks.device[kept].tolist(), step[kept].tolist(), strict=True)
    return [
        _peak(selection, memory, place, at, of)
        for place, at, of in zip(places, positions.tolist(), classes, strict=True)
    ]


def _peak(
    selection: Selection,
    memory: MemoryUse,
    place: tuple[int, int],
    at: int,
    classes: dict[MemoryClass, int] | None,
) -> schema.MemoryPeak:
    analysis, events, (device, step) = selection.analysis, memory.events, place
    row = int(events.row[at])
    module = int(analysis.attribution.row_module[row]) if row >= 0 else -1
    name, reserved = events.devices[device], int(events.reserved[at])
    return schema.MemoryPeak(
        id=name if step < 0 else f"{name}:{step}",
        device=name,
        step=analysis.steps.name[step] if step >= 0 else None,
        step_id=step if step >= 0 else None,
        time_us=to_us(events.time[at]),
        allocated_bytes=int(events.allocated[at]),
        reserved_bytes=reserved if reserved >= 0 else None,
        classes=None if classes is None else named_classes(classes),
        phase=Phase(int(analysis.phases.row[row])).name.lower() if row >= 0 else None,
        operator=_operator(selection, row),
        module=analysis.modules.path[module] if module >= 0 else None,
        module_id=module if module >= 0 else None,
        event_id=int(analysis.call_tree.event[row]) if row >= 0 else None,
    )


def named_classes(classes: dict[MemoryClass, int]) -> dict[str, int]:
    """Bytes by the names of classes."""
    return {kind.name.lower(): size for kind, size in classes.items()}


def _operator(selection: Selection, row: int) -> str | None:
    """Innermost operator that a row is or lies in."""
    analysis = selection.analysis
    named = analysis.operators.named
    while row >= 0 and not named[row]:
        row = int(analysis.call_tree.parent[row])
    return analysis.host.name(row) if row >= 0 else None


def memory_module_rows(selection: Selection) -> list[schema.MemoryModule]:
    """Memory of each module at the peak of the selection, device by device."""
    memory = selection.analysis.memory
    if memory is None or not memory.addresses_known:
        return []
    return [
        row
        for device in range(len(memory.events.devices))
        for row in modules_at(selection, device, memory.peak(device, selection.chosen))
    ]


def modules_at(selection: Selection, device: int, at: int) -> list[schema.MemoryModule]:
    """Memory of each module on a device after an event, most bytes first; -1 for none."""
    analysis, memory = selection.analysis, selection.analysis.memory
    if memory is None:
        return []
    modules, blocks, lives = analysis.modules, memory.blocks, memory.lives
    live = blocks.live_at(at, device)
    by_class = live_by_module(memory.kind, lives, blocks, live, len(modules))
    if at >= 0:
        _add_before(selection, memory, at, by_class)
    mine = (blocks.birth >= 0) & (blocks.device == device) & selection.times(lives.birth)
    saved = activation_lives(memory.kind, lives, blocks, mine, len(modules))
    freed = checkpoint_bound(memory.kind, memory.freed_in, lives, blocks, live, modules).tolist()
    count = np.bincount(lives.module[mine] + 1, minlength=len(modules) + 1)
    size = sum_by(lives.module[mine] + 1, blocks.size[mine], len(modules) + 1)
    held = [kind for kind in MemoryClass if by_class[:, kind].any()]
    total, name = by_class.sum(axis=1), memory.events.devices[device]
    shown = np.flatnonzero((total > 0) | (count > 0) | np.append(0, freed).astype(bool))
    rows = [
        schema.MemoryModule(
            id=f"{name}:{i - 1}" if i else f"{name}:",
            device=name,
            module=modules.path[i - 1] if i else None,
            module_id=i - 1 if i else None,
            peak_bytes=int(total[i]),
            classes=named_classes(
                {kind: int(by_class[i, kind]) for kind in held if by_class[i, kind]}
            ),
            allocated_bytes=int(size[i]),
            allocations=int(count[i]),
            activations=int(saved.count[i]),
            activation_bytes=int(saved.bytes[i]),
            activation_lifetime_us=(
                to_us(saved.lifetime[i]) / int(saved.freed[i]) if saved.freed[i] else None
            ),
            activation_longest_us=to_us(saved.longest[i]) if saved.freed[i] else None,
            checkpoint_bytes=freed[i - 1] if i else None,
        )
        for i in shown.tolist()
    ]
    return sorted(rows, key=lambda row: (row.peak_bytes, row.allocated_bytes), reverse=True)


def _add_before(selection: Selection, memory: MemoryUse, at: int, by_class: Int) -> None:
    """Add what is in no block that is live: what was there before, parameters by module."""
    manifest, path = selection.analysis.trace.manifest, selection.analysis.modules.path
    (classes,) = memory.classes_at(np.array([at]))
    for kind in (MemoryClass.PARAMETER, MemoryClass.BEFORE_RECORDING):
        by_class[0, kind] = classes.get(kind, 0)
    by_class[0, MemoryClass.UNKNOWN] += (
        classes.get(MemoryClass.UNKNOWN, 0) - by_class[:, MemoryClass.UNKNOWN].sum()
    )
    if manifest is not None and by_class[0, MemoryClass.PARAMETER]:
        number = {name: place for place, name in enumerate(path)}
        for listed in manifest.modules:
            if listed.path in number:
                by_class[number[listed.path] + 1, MemoryClass.PARAMETER] += listed.bytes
                by_class[0, MemoryClass.PARAMETER] -= listed.bytes


def memory_operator_rows(selection: Selection) -> list[schema.MemoryOperator]:
    """Memory of operators by name, device by device, most bytes of their own first."""
    analysis, memory = selection.analysis, selection.analysis.memory
    if memory is None:
        return []
    chosen = selection.times(memory.events.time)
    found = operator_memory(analysis.host, analysis.operators, memory.events, chosen)
    named = analysis.operators.named
    first = first_events(analysis.host.string[named], analysis.call_tree.event[named])
    rows = [
        schema.MemoryOperator(
            f"{memory.events.devices[device]}:{first[string]}",
            memory.events.devices[device],
            analysis.trace.strings[string],
            *numbers,
        )
        for device, string, *numbers in zip(*(c.tolist() for c in found), strict=True)
    ]
    rows.sort(key=lambda row: (-row.self_allocated_bytes, -row.allocated_bytes, row.operator))
    return sorted(rows[: schema.OPERATORS], key=lambda row: row.device)


def out_of_memory_rows(selection: Selection) -> list[schema.OutOfMemory]:
    """Allocations that failed in the selection."""
    analysis, failed = selection.analysis, selection.analysis.trace.out_of_memory
    rows = innermost_at(analysis.call_tree, failed.thread.astype(np.int64), failed.time)
    order = np.argsort(failed.time, kind="stable")
    return [
        _failure(selection, at, rows) for at in order[selection.times(failed.time[order])].tolist()
    ]


def _failure(selection: Selection, at: int, rows: TreeRow) -> schema.OutOfMemory:
    analysis, failed = selection.analysis, selection.analysis.trace.out_of_memory
    row = int(rows[at])
    module = int(analysis.attribution.row_module[row]) if row >= 0 else -1
    return schema.OutOfMemory(
        id=at,
        device=device_name(int(failed.device_type[at]), int(failed.device_index[at])),
        time_us=to_us(failed.time[at]),
        requested_bytes=_known(failed.amount[at]),
        allocated_bytes=_known(failed.allocated[at]),
        reserved_bytes=_known(failed.reserved[at]),
        operator=_operator(selection, row),
        module=analysis.modules.path[module] if module >= 0 else None,
        module_id=module if module >= 0 else None,
    )


def _known(value: np.int64) -> int | None:
    return int(value) if value >= 0 else None
