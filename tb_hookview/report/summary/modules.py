"""Modules of a summary, one by one and by class: in the backward, without one in the forward."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from tb_hookview.document.document import Row, Table
from tb_hookview.formats import format_number, format_share, format_us
from tb_hookview.schema import Module, ReportData, Work, module_label

_ANNOTATION = "annotation"
_LITTLE = 0.1
"""Share of the time in modules below which kernels are listed instead."""


class RankedPass(NamedTuple):
    """The pass of the modules that a summary is about."""

    backward: bool
    """Whether it is the backward; else the forward."""
    device: bool
    """Whose time: the device's, without communication, or the host's."""
    whole_us: float | None
    """Time of the pass in all modules and outside of them, of all steps."""

    def work(self, module: Module) -> Work:
        """What a module does in it."""
        return module.backward if self.backward else module.forward

    def own(self, module: Module) -> float:
        """Self time of a module in it, microseconds of all steps."""
        return self.work(module).own(device=self.device) or 0.0


def ranked_pass(data: ReportData) -> RankedPass:
    """The backward; without one, the forward."""
    if any(step.backward_us for step in data.steps):
        device = data.coverage.measure == "device"
        return RankedPass(True, device, data.coverage.total(device=device))
    device = any(module.forward.device_us for module in data.modules)
    forward = RankedPass(False, device, None)
    kinds = (data.totals.device_us_by_kind or {}) if device else {}
    ran = sum(us for kind, us in kinds.items() if kind != "communication")
    return forward._replace(whole_us=max(ran, sum(map(forward.own, data.modules))))


def module_table(data: ReportData, rows: int | None = None, contains: str = "") -> Table:
    """Modules per step, those with the longest self time in forward and backward first.

    Args:
        data: the report on the measured steps.
        rows: rows of the table; all of them where it is None.
        contains: text that path or class has, in any case.
    """
    shown, steps = ranked_pass(data), max(data.per_step.steps, 1)
    found = [
        module
        for module in sorted(data.modules, key=lambda each: -_self_us(each, shown.device))
        if contains.casefold() in f"{module.path} {module.module_class}".casefold()
    ]
    more = [_more(module, shown) for module in found]
    optional = [name for name in (more[0] if more else ()) if any(each[name] for each in more)]

    def mean(us: float | None) -> str:
        return format_us(None if us is None else us / steps)

    made: list[Row] = [
        (
            *(module_label(module.path), module.module_class),
            _mean_count(None if module.unseen else module.calls, steps),
            mean(shown.work(module).own(device=shown.device)),
            format_share(shown.work(module).own(device=shown.device), shown.whole_us),
            mean(shown.work(module).total(device=shown.device)),
            *(mean(times[name]) if times[name] else "" for name in optional),
            _mean_count(shown.work(module).kernels, steps),
            _mean_count(module.sync.count, steps) if module.sync.count else "",
            mean(module.sync.blocked_us) if module.sync.count else "",
        )
        for module, times in zip(found, more, strict=True)
    ]
    measure = "device events, sum over streams" if shown.device else "host time"
    measure += ", communication apart" if "communication" in optional else ""
    name = "backward" if shown.backward else "forward"
    columns = ("module", "class", "calls", name, "share", "incl. children", *optional)
    title = f"Modules one by one (by self time: {measure}, {data.per_step.text})"
    return Table(title, (*columns, "kernels", "syncs", "host blocked"), made, names=2).cut(rows)


def _mean_count(count: float | None, steps: int) -> str:
    return format_number(None if count is None else count / steps)


def _self_us(module: Module, device: bool) -> float:
    """Self time in forward and backward."""
    return sum(work.own(device=device) or 0.0 for work in (module.forward, module.backward))


def _more(module: Module, shown: RankedPass) -> dict[str, float]:
    """Times by names of the columns that are left out where no module has any."""
    recompute, both = module.recompute, (module.forward, module.backward)
    return {
        "communication": sum(work.communication_us or 0.0 for work in both),
        "recompute": (recompute.total(device=shown.device) if recompute else None) or 0.0,
        "forward": (module.forward.own(device=shown.device) or 0.0) if shown.backward else 0.0,
    }


def class_rows(data: ReportData, most: int) -> Table:
    """The classes of modules with the longest self time; empty where it is little of the pass.

    Args:
        data: the report on the measured steps.
        most: rows of the table.
    """
    shown, steps = ranked_pass(data), max(data.per_step.steps, 1)
    times: defaultdict[str, list[float]] = defaultdict(list)
    for module in data.modules:
        if time := shown.own(module):
            name = module.module_class
            times[module.path if name == _ANNOTATION else name].append(time)
    if sum(map(sum, times.values())) < _LITTLE * (shown.whole_us or 0.0):
        times.clear()
    rows: list[Row] = [
        (
            f"{name} x {len(each)}" if len(each) > 1 else name,
            format_us(sum(each) / len(each) / steps),
            format_us(sum(each) / steps),
            format_share(sum(each), shown.whole_us),
        )
        for name, each in sorted(times.items(), key=lambda item: -sum(item[1]))[:most]
    ]
    of = "backward" if shown.backward else "forward"
    timed = f"{of}, {'device' if shown.device else 'host'}"
    return Table("Modules by self time", ("class", "each", timed, "share"), rows)
