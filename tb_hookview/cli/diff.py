"""`hookview diff`: what changed between two traces, or two runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tb_hookview.cli.analyze import read, step_option, worker_option
from tb_hookview.cli.terminal import output, progress
from tb_hookview.errors import UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tb_hookview.schema import Comparison, ModuleChange, Pair, RunComparison


@click.command(short_help="Compare two traces, module by module.")
@click.argument("base")
@click.argument("other")
@click.option("--json", "as_json", is_flag=True, help="Print the whole comparison as JSON instead.")
@click.option("--ranks", "as_runs", is_flag=True, help="Compare all ranks of two runs instead.")
@worker_option
@step_option
@click.option(
    "--top", default=20, show_default=True, type=click.IntRange(min=1), help="Rows of the table."
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

    from tb_hookview.formats import format_count

    differing = [module for module in comparison.modules if module.status != "same"]
    parts: list[RenderableType] = [_totals(comparison)]
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
    from tb_hookview.formats import format_change, format_us, printable

    base, other = comparison.base, comparison.other
    title = (
        f"base:  {printable(base.path)} ({base.text})\n"
        f"other: {printable(other.path)} ({other.text})\nA step"
    )
    made = table(title, "", "base", "other", "change")
    measured = (
        ("step", comparison.step_us),
        ("forward", comparison.forward_us),
        ("backward", comparison.backward_us),
        ("backward, not attributed", comparison.backward_unattributed_us),
        ("host blocked in syncs", comparison.sync_blocked_us),
    )
    for name, pair in measured:
        made.add_row(name, format_us(pair.base), format_us(pair.other), format_change(pair.change))
    made.add_row(
        "syncs",
        *map(_number, (comparison.syncs.base, comparison.syncs.other)),
        _signed(comparison.syncs),
    )
    made.add_section()
    return made


def _modules(measure: str, modules: list[ModuleChange]) -> RenderableType:
    from tb_hookview.cli.summary import module_name, table
    from tb_hookview.formats import format_change, format_us, printable

    title = f"\nModules by change (own {measure} time per step)"
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
