"""Two traces compared, and a step replayed with something changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tb_hookview.formats import format_change, format_number, format_share, format_us
from tb_hookview.report.markdown.text import Page, name, paged, quoted, table
from tb_hookview.schema import Comparison, ModuleChange, Pair, PathModule, WhatIf, module_label

_FINDINGS = 10


def comparison(found: Comparison, page: Page) -> str:
    """What changed between two traces, module by module, a step.

    Args:
        found: the comparison.
        page: which modules.
    """
    pairs = {
        "step": found.step_us,
        "forward": found.forward_us,
        "backward": found.backward_us,
        "backward, of no module": found.backward_unattributed_us,
        "host blocked in syncs": found.sync_blocked_us,
        "device busy": found.device_busy_us,
        "device idle": found.device_idle_us,
    }
    lines = [
        "# Two traces compared",
        "",
        f"Base {name(found.base.path)}, means: {quoted(found.base.text)}.",
        f"Other {name(found.other.path)}, means: {quoted(found.other.text)}.",
        f"Times per step; of modules, forward and backward: {found.measure} time.",
        *(f"- {label}: {_pair(pair)}" for label, pair in pairs.items() if _known(pair)),
        f"- syncs: {format_number(found.syncs.base)} to {format_number(found.syncs.other)}",
        *_findings(found),
        "",
        "Modules by change of their self time:",
    ]
    columns = ("module", "class", "", "forward", "change", "backward", "change", "syncs")
    changed = [each for each in found.modules if each.effect_us or each.syncs.change]
    return paged(lines, *table(columns, map(_module, changed)), page)


def _known(pair: Pair) -> bool:
    return pair.base is not None or pair.other is not None


def _pair(pair: Pair) -> str:
    change = format_share(pair.change, pair.base)
    return f"{format_us(pair.base)} to {format_us(pair.other)} ({change})"


def _findings(found: Comparison) -> Iterator[str]:
    """Findings that are gone, new or of another gain."""
    changed = [each for each in found.findings if each.status != "same"]
    for each in changed[:_FINDINGS]:
        where = each.other_where or each.base_where or ""
        yield (
            f"- finding {quoted(each.rule)} at {quoted(where)} {each.status}: gain "
            f"{format_us(each.gain_us.base)} to {format_us(each.gain_us.other)}"
        )
    if len(changed) > _FINDINGS:
        yield f"- ... and {len(changed) - _FINDINGS} more findings changed"


def _module(module: ModuleChange) -> Sequence[str]:
    return (
        *(quoted(module_label(module.path)), name(module.module_class), module.status),
        *(format_us(module.forward_us.other), format_change(module.forward_us.change)),
        *(format_us(module.backward_us.other), format_change(module.backward_us.change)),
        f"{module.syncs.change:+.4g}" if module.syncs.change else "",
    )


def what_if(trace: str, asked: Sequence[str], found: WhatIf, page: Page) -> str:
    """A replay with something changed, and what its step consists of.

    Args:
        trace: path of the trace.
        asked: what was taken out or scaled.
        found: the answer.
        page: which modules of the critical path.
    """
    lines = ["# What if", "", f"Trace {name(trace)}."]
    lines.append(f"Changed: {', '.join(map(quoted, asked)) if asked else 'nothing'}.")
    if found.refused is not None or found.predicted_us is None:
        return paged([*lines, f"Not replayed: {quoted(found.refused or 'unknown')}"], [], [], page)
    step, replayed = found.step_us or 0.0, found.replayed_us or 0.0
    lines += [
        f"- recorded step {format_us(step)}, mean of {found.steps:,}; replayed unchanged "
        f"{format_us(replayed)} ({format_share(replayed - step, step)} off)",
        f"- with the change {format_us(found.predicted_us)} "
        f"({format_share(found.predicted_us - replayed, replayed)}), between "
        f"{format_us(found.low_us)} and {format_us(found.high_us)}: estimates by trace replay",
    ]
    if path := found.critical_path:
        parts = [f"{label} {format_us(getattr(path, label))}" for label in path.__struct_fields__]
        lines.append(f"- critical path: {', '.join(parts)}")
    lines += ["", "Modules on the critical path of the predicted step, then by slack:"]
    columns = ("module", "on the path", "slack")
    return paged(lines, *table(columns, map(_on_path, found.path_modules or [])), page)


def _on_path(row: PathModule) -> Sequence[str]:
    label = "not in a module" if row.module is None else quoted(module_label(row.module))
    time = sum(getattr(row.path, part) for part in row.path.__struct_fields__)
    return (label, format_us(time), format_us(row.slack_us))
