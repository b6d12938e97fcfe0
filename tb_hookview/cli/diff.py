"""`hookview diff`: what changed between two traces, or two runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tb_hookview.cli.analyze import read, step_option, worker_option
from tb_hookview.cli.terminal import output, progress
from tb_hookview.errors import UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tb_hookview.schema import (
        Comparison,
        FindingChange,
        ModuleChange,
        Pair,
        RunComparison,
        Spread,
    )


@click.command(short_help="Compare two traces, module by module.")
@click.argument("base")
@click.argument("other")
@click.option("--json", "as_json", is_flag=True, help="Print the whole comparison as JSON.")
@click.option("--ranks", "as_runs", is_flag=True, help="Compare all ranks of two runs.")
@worker_option
@step_option
@click.option(
    "--top", default=20, show_default=True, type=click.IntRange(min=1), help="Rows per table."
)
def diff(
    base: str,
    other: str,
    as_json: bool,
    as_runs: bool,
    worker: str | None,
    steps: tuple[str, ...],
    top: int,
) -> None:
    """Compare the trace OTHER with the trace BASE, module by module, per step.

    With --ranks both are folders of runs, compared rank by rank and collective by collective.
    """
    if as_runs and (worker or steps):
        raise UsageError("--ranks compares whole runs; leave out --worker and --step")
    comparison = _runs(base, other) if as_runs else _traces(base, other, worker, steps)
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode(comparison).decode())
        return
    output().print(_rendered(comparison, top))


def _traces(base: str, other: str, worker: str | None, steps: tuple[str, ...]) -> Comparison:
    reports = [read(path, worker=worker, steps=steps).counted.data for path in (base, other)]
    from tb_hookview.comparison.compare import compare

    return compare(*reports)


def _runs(base: str, other: str) -> RunComparison:
    from tb_hookview.comparison.runs import compare_runs
    from tb_hookview.ranks.run import analyze_run

    with progress() as show:
        return compare_runs(*(analyze_run(path, progress=show).data for path in (base, other)))


def _rendered(comparison: Comparison | RunComparison, top: int) -> RenderableType:
    from tb_hookview.schema import RunComparison

    if isinstance(comparison, RunComparison):
        from tb_hookview.cli.diff_ranks import render

        return render(comparison, top)
    return _render(comparison, top)


def _render(comparison: Comparison, rows: int) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    from tb_hookview.formats import format_count, printable

    differing = [module for module in comparison.modules if module.status != "same"]
    sides = (("base: ", comparison.base), ("other:", comparison.other))
    head = [f"{name} {side.path} ({side.text})" for name, side in sides]
    parts: list[RenderableType] = [
        Text("\n".join(map(printable, [*head, ""]))),
        _totals(comparison),
        *_memory(comparison),
        Text("\n".join(map(printable, _findings(comparison, rows)))),
    ]
    if not differing:
        parts.append(Text("No module changed."))
    else:
        parts.append(_modules(comparison.measure, differing[:rows]))
        if len(differing) > rows:
            parts.append(
                Text(f"... and {format_count(len(differing) - rows, 'module')} more", "dim")
            )
    return Group(*parts)


def _totals(comparison: Comparison) -> RenderableType:
    from tb_hookview.cli.summary import table
    from tb_hookview.formats import format_change, format_us

    title = "Per step: mean (range over steps)"
    made = table(title, "", "base", "other", "change", "", text_columns=1)
    measured = (
        ("step", comparison.step_us, "duration_us"),
        *((name, pair, f"{name}_us") for name, pair in comparison.phases_us.items()),
        ("device busy", comparison.device_busy_us, "device_busy_us"),
        ("device idle", comparison.device_idle_us, "device_idle_us"),
        ("host blocked in syncs", comparison.sync_blocked_us, "sync_blocked_us"),
    )
    for name, pair, field in measured:
        if pair.base or pair.other:
            spread = comparison.spread[field]
            made.add_row(
                name,
                f"{format_us(pair.base)}{_range(spread.base)}",
                f"{format_us(pair.other)}{_range(spread.other)}",
                format_change(pair.change),
                "within noise" if pair.change and spread.within_noise else "",
            )
    for name, pair in (
        ("forward on the device", comparison.forward_us),
        ("backward on the device", comparison.backward_us),
    ):
        if comparison.measure == "device":
            made.add_row(name, *_sides(pair), format_change(pair.change), "")
    pair = comparison.backward_unattributed_us
    made.add_row("backward, not attributed", *_sides(pair), format_change(pair.change), "")
    syncs = comparison.syncs
    made.add_row("syncs", _number(syncs.base), _number(syncs.other), _signed(syncs), "")
    made.add_section()
    return made


def _sides(pair: Pair) -> tuple[str, str]:
    from tb_hookview.formats import format_us

    return format_us(pair.base), format_us(pair.other)


def _range(spread: Spread | None) -> str:
    from tb_hookview.formats import format_us

    if spread is None or spread.min_us == spread.max_us:
        return ""
    return f" ({format_us(spread.min_us)} to {format_us(spread.max_us)})"


def _memory(comparison: Comparison) -> list[RenderableType]:
    from tb_hookview.cli.summary import table
    from tb_hookview.formats import format_bytes, printable

    def size(value: float | None) -> str:
        return "-" if value is None else format_bytes(value)

    made = table("Peak memory of the compared steps", "", "base", "other", "change")
    for row in comparison.memory:
        both = (("allocated", row.allocated_bytes), ("reserved", row.reserved_bytes))
        for name, pair in both:
            if pair.base is not None or pair.other is not None:
                sign = "-" if (pair.change or 0.0) < 0 else "+"
                change = f"{sign}{format_bytes(abs(pair.change))}" if pair.change else ""
                made.add_row(
                    f"{printable(row.id)} {name}", size(pair.base), size(pair.other), change
                )
    return [made] if comparison.memory else []


def _findings(comparison: Comparison, rows: int) -> list[str]:
    """A line for each finding that came or went; the rest is counted."""
    gone = [row for row in comparison.findings if row.status == "vanished"]
    new = [row for row in comparison.findings if row.status == "appeared"]
    lines = [
        f"{word}: {row.title} ({row.base_where or row.other_where}){_cost(row)}"
        for word, found in (("finding gone", gone), ("new finding", new))
        for row in found[:rows]
    ]
    left = len(gone) + len(new) - len(lines)
    stay = len(comparison.findings) - len(gone) - len(new)
    lines += [f"... and {left} more"] if left else []
    return [*lines, f"{stay} findings on both sides" if lines else "No finding came or went.", ""]


def _cost(row: FindingChange) -> str:
    from tb_hookview.formats import format_us

    cost = row.cost_us.base if row.status == "vanished" else row.cost_us.other
    return f", cost {format_us(cost)} per step" if cost else ""


def _modules(measure: str, modules: list[ModuleChange]) -> RenderableType:
    from tb_hookview.cli.summary import module_name, table
    from tb_hookview.formats import format_change, format_us, printable

    title = f"\nModules by change (self {measure} time per step)"
    columns = ("module", "class", "", "backward", "change", "forward", "change", "syncs")
    made = table(title, *columns, text_columns=3)
    for module in modules:
        made.add_row(
            module_name(module.path),
            printable(module.module_class),
            module.status,
            format_us(module.backward_us.other),
            format_change(module.backward_us.change),
            format_us(module.forward_us.other),
            format_change(module.forward_us.change),
            _signed(module.syncs),
        )
    return made


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _signed(pair: Pair) -> str:
    return f"{pair.change:+.4g}" if pair.change else ""
