"""`hookview dry-run`: where a script's steps would wait for a GPU, without one."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from tb_hookview.after_import import after_import
from tb_hookview.cli.options import module_option, number_option, script_arguments
from tb_hookview.cli.script import own_traceback, require_torch, run_module, run_script
from tb_hookview.errors import HookviewError, UsageError
from tb_hookview.version import __version__

if TYPE_CHECKING:
    from tb_hookview.dryrun import DryRun
    from tb_hookview.schema.host import DryRunReport

HOLDS, VIOLATED, FAILED = 0, 1, 2
FORMATS = ("text", "json", "markdown", "sarif", "github")


@click.command(
    name="dry-run",
    short_help="Find syncs of a script without a GPU.",
    context_settings={"allow_interspersed_args": False},
)
@module_option
@number_option("--steps", 4, "Optimizer steps after which the script is stopped.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON; short for --format json.")
@click.option(
    "--format", "form", default="text", show_default=True, type=click.Choice(FORMATS),
    help="Output format; sarif and github annotate lines in a review.",
)  # fmt: skip
@click.option(
    "--max-syncs",
    metavar="N",
    type=click.IntRange(0),
    help="Exit 1 if a step has more syncs; the first step is not counted.",
)
@click.option(
    "--allow",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Allowed syncs, each with a reason; exit 1 if an entry matches nothing.",
)
@number_option("--devices", 1, "CUDA devices.")
@click.option("--force", is_flag=True, help="Run even if this machine has a GPU.")
@script_arguments
def dry_run(
    as_module: bool,
    steps: int,
    as_json: bool,
    form: str,
    max_syncs: int | None,
    allow: Path | None,
    devices: int,
    force: bool,
    script: str,
    arguments: tuple[str, ...],
) -> None:
    """Run SCRIPT on the CPU as if it had a CUDA device, and list where the host would wait for it.

    A step is a call of the first optimizer's step. Exit 0 if no step has more than --max-syncs
    syncs, 1 if one has, 2 if the script failed or no dry run is possible. What SCRIPT prints goes
    to standard error, unless the result is text. Options come before SCRIPT; everything after it
    is passed to the script.
    """
    require_torch("a dry run needs torch")
    form = "json" if as_json else form
    session = _Session(steps, allow, devices=devices, force=force)
    printing = contextlib.ExitStack()

    def finish() -> int:
        printing.close()
        report = session.report(script)
        click.echo(_written(report, form))
        return _verdict(report, max_syncs, allow)

    with printing:
        if form != "text":
            printing.enter_context(_printing_to_stderr())
        session.run(script, arguments, as_module=as_module, finish=finish)
    click.get_current_context().exit(finish())


def _verdict(report: DryRunReport, max_syncs: int | None, allow: Path | None) -> int:
    """The exit status, whose reason goes to standard error."""
    over = max_syncs is not None and report.most_per_step > max_syncs
    if over:
        click.echo(
            f"hookview: a step has {report.most_per_step} syncs, and the limit is {max_syncs}",
            err=True,
        )
    for text in report.unused_allowances:
        click.echo(f"hookview: {allow}: no sync matches {text!r} any more; remove it", err=True)
    return VIOLATED if over or report.unused_allowances else HOLDS


def _end_process(finish: Callable[[], int]) -> NoReturn:
    """End a script that catches every exception, without its exit handlers."""
    status = FAILED
    try:
        status = finish()
        sys.stdout.flush()
    except BaseException:  # noqa: BLE001 - the script would catch it
        traceback.print_exc()
    finally:
        os._exit(status)


def _written(report: DryRunReport, form: str) -> str:
    from tb_hookview.dryrun.outlets.sarif import sarif
    from tb_hookview.dryrun.outlets.text import github, markdown, text

    if form == "json":
        import msgspec

        return msgspec.json.encode(report).decode()
    if form == "sarif":
        return sarif(report, __version__)
    return {"text": text, "markdown": markdown, "github": github}[form](report)


@contextlib.contextmanager
def _printing_to_stderr() -> Iterator[None]:
    """Send what the block prints to standard error, from C and from other processes too."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError, OSError):  # the script may have closed it
            sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


class _Session:
    """The dry run of a script, which begins once the script has imported torch."""

    def __init__(self, steps: int, allow: Path | None, *, devices: int, force: bool) -> None:
        self._steps, self._allow = steps, allow
        self._devices, self._force = devices, force
        self._run: DryRun | None = None
        self._opened = contextlib.ExitStack()

    def run(
        self, script: str, arguments: tuple[str, ...], *, as_module: bool, finish: Callable[[], int]
    ) -> None:
        """Run the script to its last step, or to its end.

        Args:
            script: a file, or the name of a module.
            arguments: what follows it.
            as_module: whether it is a module.
            finish: prints the result of a script that cannot be ended by an exception, and returns
                the exit status.

        Raises:
            UsageError: it cannot be run, failed, or no dry run is possible.
        """
        if self._allow is not None and not self._allow.is_file():
            raise UsageError(f"{self._allow}: no such file of allowed syncs")
        after_import("torch", partial(self._begin, finish))
        try:
            with self._opened:
                (run_module if as_module else run_script)(script, arguments)
        except HookviewError:
            raise
        except SystemExit as end:
            if end.code not in (None, 0):
                raise UsageError(f"{script}: exited with {end.code}; nothing was checked") from None
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - all that the interpreter itself would handle
            if type(error).__name__ != "EnoughError":
                self._failed(script, error)

    def _begin(self, finish: Callable[[], int]) -> None:
        from tb_hookview.dryrun.refusals import read
        from tb_hookview.dryrun.run import DryRun, counted

        run = DryRun(devices=self._devices, force=self._force)
        if self._allow is not None:
            run.allow(read(self._allow))
        self._opened.enter_context(run)
        self._opened.enter_context(counted(run, self._steps, partial(self._end, finish)))
        self._run = run

    def _end(self, finish: Callable[[], int]) -> None:
        if self._run is not None:
            self._run.recorder.note(
                "the script caught the exception that ends it (except: or except BaseException:); "
                "it was ended without its exit handlers"
            )
        _end_process(finish)

    def _failed(self, script: str, error: BaseException) -> None:
        error.__traceback__ = own_traceback(error)
        sys.excepthook(type(error), error, error.__traceback__)
        raise UsageError(f"{script}: failed with {type(error).__name__}; nothing was checked")

    def report(self, script: str) -> Any:
        """Return what was found.

        Raises:
            UsageError: the script did not import torch.
        """
        if self._run is None:
            raise UsageError(f"{script}: did not import torch; nothing was checked")
        self._run.program = script
        return self._run.report
