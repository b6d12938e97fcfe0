"""Warns of faults of the recorder and of mistakes in its use; never by an error."""

from __future__ import annotations

import functools
import logging
import signal
import sys
import warnings
from collections.abc import Callable
from types import CodeType
from typing import Any, NamedTuple

_log = logging.getLogger(__name__)
_warned: set[str] = set()
"""Consequences of faults that were warned of."""
_advised: set[str] = set()


class SourceLine(NamedTuple):
    """A line of Python."""

    file: str
    line: int
    module: str


MARKS = "the recorded trace may lack marks"
"""The consequence of most faults."""

LOST = "this recording is lost"


def report(doing: str, fault: Exception, consequence: str = MARKS) -> None:
    """Warn about the first fault of each consequence in the process, and log later ones.

    Args:
        doing: what failed, a phrase such as "marking a forward call".
        fault: the exception that was caught.
        consequence: what the user loses, a phrase.

    Raises:
        Exception: `fault` itself where a signal handler raised it while our code ran. It is meant
            for the training script.
    """
    if _is_from_signal_handler(fault):
        try:
            raise fault
        finally:  # or its own traceback would keep it alive, and open ranges with it
            del fault
    message = (
        f"tb_hookview: {doing} failed ({type(fault).__name__}: {fault}); "
        f"training is not affected, {consequence}"
    )
    warn(message, consequence, fault)


def guarded(
    doing: str, action: Callable[..., object], *args: Any, consequence: str = MARKS
) -> None:
    """Do something of ours; what it raises is reported, and does not reach the training loop."""
    try:
        action(*args)
    except Exception as fault:  # noqa: BLE001 - nothing of ours may reach the training loop
        report(doing, fault, consequence)


def warn(message: str, consequence: str, fault: Exception | None = None) -> None:
    """Warn, if this process has had no warning of the same consequence; else log.

    Args:
        message: the whole line.
        consequence: what the user loses, a phrase.
        fault: what was caught, for the log.
    """
    if consequence in _warned:
        _log.debug(message, exc_info=fault)
        return
    _warned.add(consequence)
    _show(message, RuntimeWarning)


def advise(subject: str, message: str, place: SourceLine | None = None) -> None:
    """Warn of a mistake in how the recorder is used, once per process and subject.

    Args:
        subject: what it is about, one word; later messages about it are logged only.
        message: what is wrong and the remedy, without our name.
        place: the line of the user's that it is about; the one under way by default.
    """
    message = f"tb_hookview: {message}"
    if subject in _advised:
        _log.debug(message)
        return
    _advised.add(subject)
    _show(message, UserWarning, place)


def _show(message: str, category: type[Warning], place: SourceLine | None = None) -> None:
    try:
        warnings.warn_explicit(message, category, *(place or place_of_user()))
    except Warning:  # the process turns warnings into errors; a fault of ours must not become one
        _log.warning(message)
    except Exception as second:  # whoever shows warnings here cannot show this one
        if _is_from_signal_handler(second):
            raise


def place_of_user() -> SourceLine:
    """Return the line under way of the innermost code that is neither ours nor torch's."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_library(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
    return SourceLine(frame.f_code.co_filename, frame.f_lineno, frame.f_globals.get("__name__", ""))


def _is_library(module: str) -> bool:
    return module.partition(".")[0] in ("tb_hookview", "torch", "contextlib", "weakref")


def _is_from_signal_handler(fault: BaseException) -> bool:
    """Return whether a Python signal handler, which may interrupt our code, raised this."""
    codes = {_code(signal.getsignal(number)) for number in signal.valid_signals()} - {None}
    trace = fault.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in codes:
            return True
        trace = trace.tb_next
    return False


def _code(handler: object) -> CodeType | None:
    """Return the code of a signal handler; None where it is not Python."""
    while isinstance(handler, functools.partial):
        handler = handler.func
    for function in (handler, getattr(handler, "__func__", None), type(handler).__call__):
        code = getattr(function, "__code__", None)
        if isinstance(code, CodeType):
            return code
    return None
