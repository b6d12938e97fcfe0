"""`hookview check`: check a trace against limits, in continuous integration for example."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

from tb_hookview.cli import BAD_INPUT
from tb_hookview.cli.analyze import read
from tb_hookview.cli.options import Decorator, step_option, worker_option
from tb_hookview.cli.terminal import progress
from tb_hookview.errors import UsageError
from tb_hookview.formats import format_against, format_us, printable

if TYPE_CHECKING:
    from tb_hookview.cli.checks import Check, Outcome
    from tb_hookview.report.result import Report
    from tb_hookview.schema import Run, Sync

PLACES_SHOWN = 5
HOLDS, VIOLATED = 0, 1
_VERDICTS = (HOLDS, BAD_INPUT, VIOLATED)
"""Exit codes of single limits; that of all is the last of them here."""


class Limit(click.FloatRange):
    """A limit; "nan" is refused."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number, or fail with click's usual message."""
        number: float = super().convert(value, param, ctx)
        if number != number:
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number


class Percent(Limit):
    """A number of percent, with the sign or without."""

    def __init__(self) -> None:
        """Allow any share; a limit below 0 asks for a gain."""
        super().__init__(-100)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number, or fail with click's usual message."""
        plain = value.removesuffix("%") if isinstance(value, str) else value
        return super().convert(plain, param, ctx)


class ModuleLimit(click.ParamType):  # type: ignore[type-arg]  # generic in later releases only
    """PATH=P: a module and a number of percent; "." is the root."""

    name = "PATH=P"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, float]:
        """Return path and number, or fail with click's usual message."""
        if isinstance(value, tuple):
            return value
        path, equals, number = str(value).rpartition("=")
        if not equals:
            self.fail(f"{value!r} is not of the form blocks.0=25.", param, ctx)
        return ("" if path == "." else path), Limit(0, 100).convert(number, param, ctx)


def _number(option: str, text: str) -> Decorator:
    return click.option(option, metavar="N", type=click.IntRange(0), help=text)


def _percent(option: str, text: str) -> Decorator:
    return click.option(option, metavar="P", type=Limit(0, 100), help=text)


def _time(option: str, text: str) -> Decorator:
    return click.option(option, metavar="X", type=Limit(0), help=text)


@click.command(short_help="Check a trace against limits.")
@click.argument("path")
@_number("--max-backward-syncs", "Syncs in the backward pass.")
@_number("--max-syncs", "Syncs in all phases.")
@_time("--max-sync-us", "Time the host is blocked in syncs, microseconds.")
@_percent(
    "--max-unattributed-percent",
    "Share of the backward time that belongs to no module and no annotation.",
)
@_percent("--max-idle-percent", "Share of the steps that the devices are idle.")
@click.option(
    "--max-module-percent",
    "modules",
    metavar="PATH=P",
    type=ModuleLimit(),
    multiple=True,
    help="Share of the backward time of a module, including children; may be repeated.",
)
@_percent(
    "--max-rank-wait-percent",
    "Share of the steps that ranks of the run in PATH wait for each other.",
)
@_number("--max-stragglers", "Stragglers of the run in PATH.")
@_time("--max-step-ms", "Median of the measured steps, milliseconds.")
@click.option(
    "--max-regression",
    metavar="P",
    type=Percent(),
    help="How much longer the median step may be than that of --baseline, such as 5%.",
)
@click.option("--baseline", metavar="TRACE", help="The trace that --max-regression compares with.")
@_percent("--max-slow-steps-percent", "Share of slow steps of the watched training run in PATH.")
@_number("--max-slow-ranks", "Slow ranks of the watched training run in PATH.")
@worker_option
@step_option
def check(
    path: str,
    baseline: str | None,
    worker: str | None,
    steps: tuple[str, ...],
    modules: tuple[tuple[str, float], ...],
    **limits: float | None,
) -> None:
    """Exit 0 if the trace PATH meets all limits, 1 if it exceeds one (and print where).

    Exit 2 if it cannot be read, or if it exceeds no limit but one cannot be checked, because the
    trace lacks a backward pass or a device. Counts and times are of the whole trace, or of the
    chosen steps together; shares are of the measured steps; limits on ranks are of all ranks of
    the newest run in the folder PATH. The profiler's own sync as it stops is not counted.
    """
    asked = {name: limit for name, limit in limits.items() if limit is not None}
    if (baseline is None) != ("max_regression" not in asked):
        raise UsageError("--baseline and --max-regression belong together; give both")
    if not asked and not modules:
        raise UsageError("check needs at least one limit, such as --max-backward-syncs 0")
    from tb_hookview.cli.checks import HISTORY_LIMITS, RUN_LIMITS, tests, tests_of

    watched = {name: asked.pop(name) for name in HISTORY_LIMITS if name in asked}
    of_run = {name: asked.pop(name) for name in RUN_LIMITS if name in asked}
    if (of_run or watched) and (worker or steps):
        raise UsageError("limits of ranks are of the whole run; leave out --worker and --step")
    outcomes: list[int] = []
    if of_run:
        outcomes += _tested(tests_of(_run(path), RUN_LIMITS, of_run))
    if watched:
        from tb_hookview.history.answer import read_history

        outcomes += _tested(tests_of(read_history(path), HISTORY_LIMITS, watched))
    if asked or modules:
        report = read(path, worker=worker, steps=steps)
        outcomes += _tested([*_of_time(report, baseline, asked), *tests(report, asked, modules)])
    click.get_current_context().exit(max(outcomes, key=_VERDICTS.index))


def _run(path: str) -> Run:
    from tb_hookview.ranks.run import analyze_run

    with progress() as show:
        return analyze_run(path, progress=show).data


def _of_time(report: Report, baseline: str | None, asked: dict[str, float]) -> Iterable[Check]:
    """Take the limits on the time of steps out of those asked for; return their tests."""
    from tb_hookview.cli.checks import regression_percent, step_ms, tests_of

    of_steps: dict[str, Callable[[Report, float], Outcome]] = {"max_step_ms": step_ms}
    if baseline is not None:
        before = read(baseline, worker=None, steps=())
        of_steps["max_regression"] = lambda of, limit: regression_percent(of, before, limit)
    return tests_of(report, of_steps, {n: asked.pop(n) for n in of_steps if n in asked})


def _tested(tests: Iterable[Check]) -> list[int]:
    """Check limits and print what was found; the exit codes they ask for."""
    refused: defaultdict[str, list[str]] = defaultdict(list)
    verdicts = [_verdict(test, refused) for test in tests]
    for why, options in refused.items():
        line = f"hookview: cannot check {', '.join(options)}: {why}"
        click.echo(printable(line), err=True)
    return verdicts


def _verdict(test: Check, refused: defaultdict[str, list[str]]) -> int:
    try:
        outcome = test.outcome()
    except UsageError as error:
        refused[str(error)].append(test.option)
        return BAD_INPUT
    _say(outcome)
    return HOLDS if outcome.holds else VIOLATED


def _say(outcome: Outcome) -> None:
    verdict = click.style("ok  ", "green") if outcome.holds else click.style("FAIL", "red")
    value, limit = format_against(outcome.value, outcome.limit), f"{outcome.limit:.12g}"
    note = f" ({outcome.note})" if outcome.note else ""
    click.echo(
        f"{verdict} {outcome.what}: {value}{outcome.unit}, limit {limit}{outcome.unit}{note}"
    )
    if outcome.holds:
        return
    for sync in outcome.syncs[:PLACES_SHOWN]:
        click.echo(f"       {_place(sync)}")
    if len(outcome.syncs) > PLACES_SHOWN:
        click.echo(f"       ... and {len(outcome.syncs) - PLACES_SHOWN} more")


def _place(sync: Sync) -> str:
    from tb_hookview.schema import module_label

    module = "no module" if sync.module is None else f"module {module_label(sync.module)}"
    parts = [sync.operator or sync.api, sync.phase, module, *sync.stack[:1]]
    if sync.step:
        parts.insert(1, sync.step)
    return f"{format_us(sync.duration_us):>8}  " + printable(", ".join(parts))
