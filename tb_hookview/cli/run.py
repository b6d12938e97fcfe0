"""Records the training of a script that is not edited: `hookview run`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from tb_hookview.addresses.text import is_address
from tb_hookview.after_import import after_import
from tb_hookview.cli import INTERRUPTED
from tb_hookview.cli.options import module_option, number_option, script_arguments
from tb_hookview.cli.script import (
    CannotRunError,
    own_traceback,
    require_torch,
    run_module,
    run_script,
)
from tb_hookview.errors import UsageError
from tb_hookview.formats import printable

if TYPE_CHECKING:
    from tb_hookview.recorder.auto_record import TrainingRecorder


class _Folder(click.Path):
    """A folder or an address."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Path | str:
        """Return an address as it is, anything else as click does."""
        folder: Any = value if is_address(value) else super().convert(value, param, ctx)
        return folder  # type: ignore[no-any-return]


def _parse_ranks(
    _context: click.Context, _option: click.Parameter, text: str | None
) -> frozenset[int] | None:
    if text is None:
        return None
    parts = text.split(",")
    if not all(part.strip().isdecimal() for part in parts):
        raise click.BadParameter(f"{text!r}; whole numbers are expected, as in 0,8.")
    return frozenset(map(int, parts))


@click.command(
    short_help="Record a training script.", context_settings={"allow_interspersed_args": False}
)
@module_option
@click.option(
    "--logdir",
    type=_Folder(path_type=Path, file_okay=False),
    help="Folder or address (s3://...) to record into.  [default: runs/<name of the script>]",
)
@number_option("--wait", 3, "Steps before the recording; at least one, to find the model.")
@number_option("--warmup", 1, "Steps recorded and discarded, while the profiler warms up.")
@number_option("--active", 3, "Steps to record.")
@number_option(
    "--repeat", 1, "Number of recordings, one file each; 0 repeats until the script ends.", least=0
)
@click.option(
    "--markers",
    default="auto",
    show_default=True,
    type=click.Choice(["auto", "forward", "module"]),
    help="Which marks to leave in the trace.",
)
@click.option("--depth", metavar="N", type=click.IntRange(0), help="Mark N levels of modules.")
@click.option(
    "--ranks",
    metavar="N,...",
    callback=_parse_ranks,
    help="Ranks that record, such as 0,8.  [default: all]",
)
@click.option(
    "--watch",
    is_flag=True,
    help="Write the time of every step, and record slow ones; instead of --wait, --warmup, "
    "--repeat.",
)
@click.option("--with-stack", is_flag=True, help="Record Python stacks.")
@click.option("--with-shapes", is_flag=True, help="Record the shapes of inputs.")
@script_arguments
def run(
    as_module: bool, script: str, arguments: tuple[str, ...], logdir: Path | str | None, **plan: Any
) -> None:
    """Run SCRIPT as python would, and record a few training steps.

    The first model that an optimizer trains is wrapped, and its losses; a step is a call of that
    optimizer's step. Messages go to standard error. Options come before SCRIPT; everything after it
    is passed to the script.
    """
    require_torch("run records with PyTorch")
    recording = _Recording({**plan, "logdir": logdir or Path("runs", _name(script, as_module))})
    after_import("torch", recording.begin)
    try:
        _run_to_its_end(run_module if as_module else run_script, script, arguments, recording.end)
    except CannotRunError as error:
        raise UsageError(str(error)) from None


def _name(script: str, as_module: bool) -> str:
    return script if as_module else Path(script).stem


def _run_to_its_end(
    start: Callable[[str, tuple[str, ...]], None],
    script: str,
    arguments: tuple[str, ...],
    end: Callable[[], None],
) -> None:
    """Run the script; exit with its own exit code and traceback.

    No error of the script is handled as one of this command, whatever its type.
    """
    try:
        start(script, arguments)
    except CannotRunError:
        raise
    except SystemExit:
        end()
        raise
    except BaseException as error:  # noqa: BLE001 - all that the interpreter itself would handle
        end()
        _exit_with(error)
    else:
        end()


def _exit_with(error: BaseException) -> NoReturn:
    error.__traceback__ = own_traceback(error)
    sys.excepthook(type(error), error, error.__traceback__)
    sys.exit(INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1)


class _Recording:
    """Creates the recorder once the script has imported torch."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self._plan = plan
        self._process = os.getpid()
        self._recorder: TrainingRecorder | None = None

    def begin(self) -> None:
        try:
            from tb_hookview.recorder.auto_record import Plan, TrainingRecorder
            from tb_hookview.watching.watch import watch

            self._recorder = TrainingRecorder(Plan(**self._plan), say=_say, watch=watch)
            self._recorder.begin()
        except Exception as fault:  # noqa: BLE001 - the script's import of torch must not fail
            _say(f"nothing is recorded: {type(fault).__name__}: {fault}")

    def end(self) -> None:
        if os.getpid() != self._process:  # a process that the script forked
            return
        if self._recorder is not None:
            self._recorder.end()
        else:
            _say("nothing was recorded: the script did not import torch")


def _say(text: str) -> None:
    click.echo(f"hookview: {printable(text)}", err=True)
