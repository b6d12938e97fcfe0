"""`hookview cache`: what is cached on disk of traces that were read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tb_hookview.addresses.text import place, shown
from tb_hookview.cli import BAD_INPUT
from tb_hookview.cli.terminal import progress
from tb_hookview.errors import HookviewError, UsageError
from tb_hookview.formats import format_count, printable

if TYPE_CHECKING:
    from tb_hookview.cache import Cache
    from tb_hookview.trace import TraceFile

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


@click.group("cache", invoke_without_command=True, short_help="Show, fill or clear the cache.")
@click.pass_context
def cache(context: click.Context) -> None:
    """Show the folder of the cache, its entries by kind, and its limit.

    HOOKVIEW_CACHE names the folder, or turns caching off with "off"; HOOKVIEW_CACHE_LIMIT is its
    maximum size, such as 500M (4G by default). The least recently used entries are removed first.
    """
    if context.invoked_subcommand is None:
        cached = _opened()
        used = cached.usage()
        click.echo(f"folder   {printable(str(cached.folder))}")
        click.echo(f"entries  {used.entries:,}")
        click.echo(f"size     {_size(used.bytes)}")
        click.echo(f"limit    {_size(cached.limit)}")


@cache.command(short_help="Clear the cache.")
def clear() -> None:
    """Remove all entries; other files in the folder stay."""
    removed = _opened().clear()
    click.echo(
        f"removed {format_count(removed.entries, 'entry', 'entries')}, {_size(removed.bytes)}"
    )


@cache.command(short_help="Read traces into the cache.")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option(
    "--workers",
    metavar="N",
    type=click.IntRange(min=1),
    help="Traces read in parallel; by default one per core.",
)
def fill(paths: tuple[str, ...], workers: int | None) -> None:
    """Read the traces in each PATH now, so that they open quickly later.

    A trace that cannot be read is a line on standard error, and the exit code is 2; the others are
    cached all the same.
    """
    from tb_hookview.cli.filling import fill as fill_all
    from tb_hookview.workers.limits import cores

    cached = _opened()
    found, problems = _traces(paths)
    added = 0
    with progress() as show:
        for number, outcome in enumerate(fill_all(found, cached.folder, workers or cores())):
            if show:
                show("reading", (number + 1) / len(found))
            problems += [outcome.problem] if outcome.problem else []
            added += outcome.added
    for problem in problems:
        click.echo(f"hookview: {printable(problem)}", err=True)
    click.echo(f"{format_count(len(found), 'trace')}, {added} read and cached")
    click.echo(f"the cache holds {_size(cached.usage().bytes)} of at most {_size(cached.limit)}")
    click.get_current_context().exit(BAD_INPUT if problems else 0)


def _traces(paths: tuple[str, ...]) -> tuple[list[TraceFile], list[str]]:
    """Return the trace files of some paths, the largest first; and the other paths' errors."""
    found: dict[TraceFile, int] = {}
    problems = []
    for path in paths:
        sizes, problem = _below(path)
        found |= sizes
        problems += [problem] if problem else []
    return sorted(found, key=lambda file: -found[file]), problems


def _below(path: str) -> tuple[dict[TraceFile, int], str | None]:
    from tb_hookview.trace.source.runs import find_runs

    try:
        workers = [worker for run in find_runs(_absolute(path)) for worker in run.workers]
    except HookviewError as error:
        return {}, str(error)
    sizes = {trace.file: trace.size for worker in workers for trace in worker.traces}
    return sizes, None if sizes else f"{shown(path)}: no traces in this folder; name another"


def _absolute(path: str) -> str | Path:
    named = place(path)
    return named.absolute() if isinstance(named, Path) else named


def _opened() -> Cache:
    from tb_hookview.cache import Cache
    from tb_hookview.cache.entries import VARIABLE, folder, is_off, limit

    if is_off():
        raise UsageError(f"{VARIABLE}={os.environ[VARIABLE]!r}: caching is off; unset it to cache")
    try:
        return Cache(folder(), limit())
    except RuntimeError:
        raise UsageError(f"there is no home folder; name a folder in {VARIABLE}") from None


def _size(size: int) -> str:
    """Write a number of bytes with three digits and its unit."""
    power = min(max(size.bit_length() - 1, 0) // 10, len(_UNITS) - 1)
    value = size / (1 << 10 * power)
    return f"{value:.{1 if power and value < 99.95 else 0}f} {_UNITS[power]}"
