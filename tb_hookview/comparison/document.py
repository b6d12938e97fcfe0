"""What changed between two traces, or two runs of many ranks, as a document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tb_hookview.document.document import Document, Lines, Row, Table
from tb_hookview.formats import (
    MISSING,
    format_bytes,
    format_change,
    format_count,
    format_number,
    format_share,
    format_step,
    format_us,
)
from tb_hookview.schema import (
    Comparison,
    FindingChange,
    ModuleChange,
    Pair,
    RankTimes,
    RunComparison,
    Side,
    Spread,
    module_label,
)

_FINDINGS = 20
_SUMS = "Sums over the whole trace"
_FEWER = "The {} trace has no known bottleneck: fewer rules apply to it, so not all of this is new."
_UNCHANGED, _NO_MODULES = "No module changed.", "Neither trace has modules."
_UNNAMED = "The {} trace names no modules: what they took in it is unknown."
_TIMES = {
    "step": "step_us",
    "compute": "compute_us",
    "communication": "communication_us",
    "exposed": "exposed_communication_us",
    "idle": "idle_us",
    "straggler wait": "wait_us",
}


def comparison_document(found: Comparison, rows: int | None = None) -> Document:
    """What changed between two traces, module by module, per step.

    Args:
        found: the comparison.
        rows: most modules and findings that are listed; all modules where it is None.
    """
    sides = (("base", found.base), ("other", found.other))
    modules = _modules(found).cut(rows)
    unlike = [f"{text[0].upper()}{text[1:]}." for text in unlike_steps(found.base, found.other)]
    warnings = [f"warning, {name}: {text}" for name, side in sides for text in side.warnings]
    parts: tuple[Lines | Table, ...] = (
        Lines(
            [f"{name + ':':6} {side.path} ({side.text})" for name, side in sides]
            + unlike
            + warnings
        ),
        _totals(found),
        _memory(found),
        Lines(_findings(found, rows or _FINDINGS)),
        Lines(list(_unnamed(found))),
        modules if modules.rows else Lines([_UNCHANGED if found.modules else _NO_MODULES]),
    )
    return Document("Two traces compared", parts, modules if modules.rows else None)


def _totals(found: Comparison) -> Table:
    step, whole = format_step(_marked(found)), found.whole_step_us
    ahead = whole != found.step_us
    meanwhile = " meanwhile" if ahead else ""
    rows: list[Row] = [(*_times(f"{step}, on the device", whole), "")] if ahead else []
    unrecorded = found.unrecorded_step_us
    if unrecorded.base or unrecorded.other:
        rows.append((*_times(f"{step}, without the profiler (estimate)", unrecorded), ""))
    measured = (
        (f"{step}, on the host" if ahead else step, found.step_us, "duration_us"),
        *((name, pair, f"{name}_us") for name, pair in found.phases_us.items()),
        (f"device busy{meanwhile}", found.device_busy_us, "device_busy_us"),
        (f"device idle{meanwhile}", found.device_idle_us, "device_idle_us"),
        ("host blocked in syncs", found.sync_blocked_us, "sync_blocked_us"),
    )
    for name, pair, field in measured:
        if pair.base or pair.other:
            spread = found.spread[field]
            noise = "within noise" if pair.change and spread.within_noise else ""
            rows.append((*_times(name, pair, spread.base, spread.other), noise))
    if found.measure == "device":
        rows.append((*_times("forward on the device", found.forward_us), ""))
        rows.append((*_times("backward on the device", found.backward_us), ""))
    if collectives := found.device_us_by_kind.get("communication"):
        rows.append((*_times("communication, apart", collectives), ""))
    backward = found.phases_us.get("backward")
    if backward is None or {backward.base, backward.other} != {None}:
        rows.append((*_times("backward, not attributed", found.backward_unattributed_us), ""))
    syncs = found.syncs
    rows.append(("syncs", _number(syncs.base), _number(syncs.other), _signed(syncs), "", ""))
    columns = ("", "base", "other", "change", "in %", "")
    title = "Per step: mean (median; range over steps)" if _marked(found) else _SUMS
    return Table(title, columns, rows)


def unlike_steps(
    base: Side, other: Side, names: tuple[str, str] = ("the base trace", "the other trace")
) -> list[str]:
    """Say where one trace has steps and the other has none, or iterations in their place."""
    sides = dict(zip(names, (base, other), strict=True))
    whole = [name for name, side in sides.items() if not side.marked]
    if len(whole) == 1:
        return [f"{whole[0]} has no steps: a whole trace is compared with a step"]
    loops = [name for name, side in sides.items() if "iteration " in " ".join(side.step_names)]
    if len(loops) == 1:
        (marked,) = set(names) - set(loops)
        return [
            f"steps of {loops[0]} are iterations found in it, while {marked} marks its steps: they "
            "may hold different work"
        ]
    return []


def _marked(found: Comparison) -> bool:
    """Whether either trace has steps; else nothing is per step."""
    return found.base.marked or found.other.marked


def _times(
    name: str, pair: Pair, base: Spread | None = None, other: Spread | None = None
) -> tuple[str, ...]:
    return (
        name,
        f"{format_us(pair.base)}{_range(base)}",
        f"{format_us(pair.other)}{_range(other)}",
        format_change(pair.change),
        format_share(pair.change, pair.base) if pair.change else "",
    )


def _range(spread: Spread | None) -> str:
    if spread is None or spread.min_us == spread.max_us:
        return ""
    middle, least, most = map(format_us, (spread.median_us, spread.min_us, spread.max_us))
    return f" ({middle}; {least} to {most})"


def _memory(found: Comparison) -> Table:
    rows: list[Row] = []
    for row in found.memory:
        both = (("allocated", row.allocated_bytes), ("reserved", row.reserved_bytes))
        for name, pair in both:
            if pair.base is not None or pair.other is not None:
                sign = "-" if (pair.change or 0.0) < 0 else "+"
                change = f"{sign}{format_bytes(abs(pair.change))}" if pair.change else ""
                rows.append((f"{row.id} {name}", _size(pair.base), _size(pair.other), change))
    title = "Peak memory of the compared steps" if _marked(found) else "Peak memory"
    return Table(title, ("", "base", "other", "change"), rows)


def _size(value: float | None) -> str:
    return MISSING if value is None else format_bytes(value)


def _findings(found: Comparison, most: int) -> list[str]:
    """A line for each finding that came or went; the rest is counted."""
    gone = [row for row in found.findings if row.status == "vanished"]
    new = [row for row in found.findings if row.status == "appeared"]
    lines = [
        f"{word}: {row.title} ({row.base_where or row.other_where})"
        f"{_cost(row, ' per step' if _marked(found) else '')}"
        for word, rows in (("no longer found", gone), ("new finding", new))
        for row in rows[:most]
    ]
    left = len(gone) + len(new) - len(lines)
    stay = len(found.findings) - len(gone) - len(new)
    lines += [f"... and {left} more"] if left else []
    both = f"{format_count(stay, 'finding')} in both traces"
    unknown = [side.bound == "unknown" for side in (found.base, found.other)]
    if lines and unknown[0] != unknown[1]:
        lines.append(_FEWER.format("base" if unknown[0] else "other"))
    return [*lines, both if lines else "No finding came or went."]


def _cost(row: FindingChange, each: str) -> str:
    gone = row.status == "vanished"
    pairs = (row.cost_us, row.gain_us, row.once_us)
    cost, gain, once = (pair.base if gone else pair.other for pair in pairs)
    saved = f", estimated saving {format_us(gain)} as recorded" if gain else ""
    if once is not None:
        return f", cost {format_us(once)} once{saved}"
    return f", cost {format_us(cost)}{each}{saved}" if cost else ""


def _unnamed(found: Comparison) -> Iterator[str]:
    """A line where one side alone names modules."""
    for row in found.modules[:1]:
        if row.status == "unknown" and None in (row.base_id, row.other_id):
            yield _UNNAMED.format("base" if row.base_id is None else "other")


def _modules(found: Comparison) -> Table:
    columns = ("module", "class", "", "backward", "change", "forward", "change", "syncs")
    each = " per step" if _marked(found) else ""
    title = f"Modules by change (self {found.measure} time{each})"
    differing = [_module(module) for module in found.modules if module.status != "same"]
    return Table(title, columns, differing, names=3)


def _module(module: ModuleChange) -> Row:
    return (
        *(module_label(module.path), module.module_class, module.status),
        *(format_us(module.backward_us.other), format_change(module.backward_us.change)),
        *(format_us(module.forward_us.other), format_change(module.forward_us.change)),
        _signed(module.syncs),
    )


def _number(value: float | None) -> str:
    return MISSING if value is None else f"{value:.4g}"


def _signed(pair: Pair) -> str:
    return f"{pair.change:+.4g}" if pair.change else ""


def runs_document(found: RunComparison, rows: int) -> Document:
    """What changed between two runs: stragglers, means, ranks and collectives."""
    whole = format_step(found.base.marked or found.other.marked)
    tables = (_means(found.mean, whole), *_changes(found, rows, whole))
    return Document("Two runs compared", [Lines(list(_stragglers(found))), *tables])


def _stragglers(found: RunComparison) -> Iterator[str]:
    for name, side in (("base: ", found.base), ("other:", found.other)):
        yield f"{name} {side.path} ({side.ranks} ranks)"
    yield from (f"rank {rank} is a straggler in the other run only" for rank in found.late)
    yield from (f"rank {rank} is no straggler any more" for rank in found.no_longer_late)


def _means(mean: RankTimes, whole: str) -> Table:
    pairs = zip(_names(whole), (getattr(mean, field) for field in _TIMES.values()), strict=True)
    rows = [_times(name, pair)[:4] for name, pair in pairs]
    return Table(f"{whole.capitalize()}, mean over ranks", ("", "base", "other", "change"), rows)


def _names(whole: str) -> list[str]:
    """Names of `_TIMES`; whole is what the longest of them are of."""
    return [whole, *list(_TIMES)[1:]]


def _changes(found: RunComparison, rows: int, whole: str) -> Sequence[Table]:
    ranks: list[Row] = []
    for row in found.ranks:
        changes = (getattr(row.times, field).change for field in _TIMES.values())
        ranks.append((str(row.rank), row.status, *map(format_change, changes)))
    collectives: list[Row] = [
        (
            *(each.name or "unknown", each.status, format_number(each.bytes)),
            *(format_number(each.count.other), _signed(each.count)),
            *(format_us(each.transfer_us.other), format_change(each.transfer_us.change)),
            *(format_us(each.wait_us.other), format_change(each.wait_us.change)),
        )
        for each in found.collectives
    ]
    per = "per step" if whole == "step" else "count"
    title = f"Ranks by change of their self time (the {whole} less the waits)"
    columns = ("collective", "", "bytes", per, "change", "transfer", "change", "wait", "change")
    return (
        Table(title, ("rank", "", *_names(whole)), ranks, names=2).cut(rows),
        Table("Collectives by change", columns, collectives, names=2).cut(rows),
    )
