"""`dry_run` and `no_syncs`: a CUDA device for a block, and what the host would wait for."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, overload

import torch
from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook

from tb_hookview.dryrun import refusals
from tb_hookview.dryrun.cuda.installation import TRITON, device
from tb_hookview.dryrun.device.guard import PLANS, DoesNotFitError
from tb_hookview.dryrun.operators.row import Arguments, Reason, Row
from tb_hookview.dryrun.recording.recorder import WATCH, Recorder
from tb_hookview.dryrun.refusals import Allowance, Allowances, deferred, given
from tb_hookview.errors import UsageError

if TYPE_CHECKING:
    from tb_hookview.schema.host import DryRunReport, DrySync
    from tb_hookview.tables.table import Table


# Functions of the CPU for operators that have a CUDA kernel only.


_REGISTERED = "as it was registered"


def register(operator: Any, function: Callable[..., Any], syncs: Any) -> None:
    """Register a function; see `DryRun.register`."""
    if isinstance(operator, str):
        operator = _overload(operator)
    packet: Any = torch._ops.OpOverloadPacket
    if isinstance(operator, packet):
        operator = getattr(operator, operator.overloads()[0])
    if isinstance(operator, torch._ops.OpOverload):
        row = None if syncs is None else _row(operator._schema.name, syncs)
        PLANS.register(operator, function, row)
    elif callable(getattr(operator, "run", None)):
        TRITON[operator] = (function, lambda args, kwargs: _reasons(syncs, args, kwargs))
    else:
        raise UsageError(f"{operator!r} is neither an operator nor a Triton kernel")


def _overload(name: str) -> Any:
    space, _, local = name.partition("::")
    packet, _, overload = local.partition(".")
    try:
        found = getattr(getattr(torch.ops, space), packet)
        return getattr(found, overload or found.overloads()[0])
    except (AttributeError, IndexError):
        raise UsageError(f"there is no operator {name!r}; import what defines it first") from None


def _row(name: str, syncs: Any) -> Row:
    def reasons(arguments: Arguments) -> Iterable[Reason]:
        return _reasons(syncs, tuple(arguments.values()), {})

    return Row((name,), _REGISTERED, "the program", reasons)


def _reasons(syncs: Any, args: Any, kwargs: dict[str, Any]) -> list[Reason]:
    count = syncs(*args, **kwargs) if callable(syncs) else syncs or 0
    return [Reason("inside", _REGISTERED)] * int(count)


Test = TypeVar("Test", bound=Callable[..., Any])


class SyncsFoundError(AssertionError):
    """With a GPU the host would wait for it."""


class DryRun:
    """A block in which the device `cuda` exists, made of host memory.

    Tensors of the device must not be used after the block.
    """

    def __init__(self, *, devices: int = 1, force: bool = False) -> None:
        if devices < 1:
            raise UsageError("devices is the number of CUDA devices, at least 1")
        self.recorder = Recorder()
        self._devices, self._force = devices, force
        self._undo = ExitStack()
        self._allowances: list[Allowance] = []
        self.program = ""
        """The script that ran, for the report."""

    def __enter__(self) -> DryRun:
        refusals.check(force=self._force, active=WATCH.recorder is not None)
        try:
            with deferred():
                self._begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _begin(self) -> None:
        undo = self._undo
        try:
            undo.enter_context(device(self._devices))
            refusals.check_device()
        except DoesNotFitError as error:
            raise refusals.does_not_fit(error) from error
        undo.callback(setattr, WATCH, "recorder", None)
        WATCH.recorder = self.recorder
        undo.callback(self.recorder.stop)
        self.recorder.start()

    def __exit__(self, *error: object) -> None:
        with deferred():
            self._undo.close()

    def step(self) -> None:
        """Say that a training step is complete."""
        self.recorder.new_step()

    def allow(self, entries: Iterable[Allowance]) -> None:
        """Take syncs for allowed."""
        self._allowances += entries

    @property
    def syncs(self) -> Table[DrySync]:
        """Every place where the host would wait, by step: as `report.syncs`, without times."""
        from tb_hookview.dryrun.rows import table

        return table(self.recorder.syncs, Allowances(self._allowances))

    @property
    def report(self) -> DryRunReport:
        """Everything that is known of the run."""
        from tb_hookview.dryrun.rows import report

        return report(
            self.recorder, Allowances(self._allowances), program=self.program, devices=self._devices
        )

    @property
    def notes(self) -> list[str]:
        """What this run did otherwise than a GPU would."""
        return list(self.recorder.notes)

    def to_json(self) -> str:
        """The whole run as JSON."""
        from tb_hookview.dryrun.rows import encoded

        return encoded(self.report).decode()

    def register(self, operator: Any, function: Callable[..., Any], *, syncs: Any = None) -> None:
        """Give an operator without a kernel for the CPU one, for the time of the run.

        Args:
            operator: the name of an operator (`"mylib::scan"`), an overload, or a Triton kernel.
            function: called with the operator's arguments, tensors being on the CPU; returns what
                the operator returns. For a Triton kernel it writes into its arguments.
            syncs: how often its CUDA code makes the host wait for the device: a number, or a
                function of the operator's arguments that returns one. None: what is known of the
                operator, which for one of a library of your own is 0.

        Raises:
            UsageError: there is no such operator.
        """
        register(operator, function, syncs)

    def check(self, *, allow: Sequence[str] = (), warmup: int = 0) -> None:
        """Fail if a completed step would make the host wait.

        Args:
            allow: texts; a sync whose line, code, module, operator, node or cause contains one of
                them may be there.
            warmup: steps at the beginning that are not checked.

        Raises:
            SyncsFoundError: at least one sync is certain and not allowed.
            UsageError: no step is left to check.
        """
        completed = self.recorder.step
        if completed <= warmup:
            raise UsageError(
                f"nothing was checked: {completed} steps were completed (run.step()), of which the "
                f"first {warmup} are warmup"
            )
        from tb_hookview.dryrun.rows import message, rows

        allowances = Allowances([*self._allowances, *given(allow)])
        bad = [
            sync
            for sync in rows(self.recorder.syncs, allowances)
            if sync.certain and sync.allowed is None and warmup <= sync.step < completed
        ]
        if bad:
            raise SyncsFoundError(message(bad))


def dry_run(*, devices: int = 1, force: bool = False) -> DryRun:
    """Let the device `cuda` exist for a block, and list where the host would wait for it.

        with hookview.dry_run() as run:
            for batch in loader:
                ...
                run.step()
        run.syncs

    Args:
        devices: number of CUDA devices.
        force: run even if this machine has a GPU.

    Returns:
        A context manager. Entering it raises UsageError where there is a GPU, or where this
        version of torch is not supported.
    """
    return DryRun(devices=devices, force=force)


@overload
def no_syncs(test: Test) -> Test: ...
@overload
def no_syncs(
    test: None = None, *, warmup: int = 1, allow: Sequence[str] = (), devices: int = 1
) -> Callable[[Test], Test]: ...
def no_syncs(
    test: Any = None, *, warmup: int = 1, allow: Sequence[str] = (), devices: int = 1
) -> Any:
    """Let a test fail where its steps would make the host wait for the device.

    The test gets the dry run as its argument `run` (or else as its first one), and calls
    `run.step()` after each step.

    Args:
        test: the test.
        warmup: steps at the beginning that may sync.
        allow: texts; a sync whose line, code, module, operator, node or cause contains one of them
            may be there.
        devices: number of CUDA devices.
    """
    if test is None:
        return functools.partial(_checked, warmup=warmup, allow=allow, devices=devices)
    return _checked(test, warmup=warmup, allow=allow, devices=devices)


def _checked(
    test: Callable[..., Any], *, warmup: int, allow: Sequence[str], devices: int
) -> Callable[..., Any]:
    signature = inspect.signature(test)
    names = list(signature.parameters)
    if not names:
        raise UsageError(f"{test.__name__} needs an argument for the run: def {test.__name__}(run)")
    of_run = "run" if "run" in names else names[0]
    place = names.index(of_run)
    given(allow)

    @functools.wraps(test)
    def checked(*args: Any, **kwargs: Any) -> Any:
        with dry_run(devices=devices) as run:
            # in its place among positional arguments
            if place <= len(args):
                result = test(*args[:place], run, *args[place:], **kwargs)
            else:
                result = test(*args, **{of_run: run}, **kwargs)
        run.check(allow=allow, warmup=warmup)
        return result

    # pytest would take `run` for a fixture.
    del checked.__wrapped__
    left = [each for name, each in signature.parameters.items() if name != of_run]
    checked.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
    return checked


# Steps of a script that is not edited: calls of its first optimizer's step.


class EnoughError(BaseException):
    """Ends the script after its last step; only `except:` and `except BaseException:` catch it."""


@contextmanager
def counted(run: DryRun, most: int, caught: Callable[[], None]) -> Iterator[None]:
    """Count steps while the block runs, and end it after some of them.

    Args:
        run: the dry run, which counts each step.
        most: number of steps after which EnoughError is raised in the optimizer's step.
        caught: called instead of one more step, if a handler in the block caught EnoughError.
    """
    handle: Any = register_optimizer_step_post_hook(_hook(run, most, caught))
    try:
        yield
    finally:
        handle.remove()


def _hook(
    run: DryRun, most: int, caught: Callable[[], None]
) -> Callable[[Optimizer, Any, Any], None]:
    first: list[Optimizer] = []

    def after(optimizer: Optimizer, _args: Any, _kwargs: Any) -> None:
        if not first:
            first.append(optimizer)
        if optimizer is not first[0]:
            return
        if run.recorder.step >= most:
            caught()
            return
        run.step()
        if run.recorder.step >= most:
            raise EnoughError

    return after
