"""The recorder's own faults: one warning per process, never an error in the training loop."""

from __future__ import annotations

import functools
import logging
import signal
import warnings
from types import CodeType

_log = logging.getLogger(__name__)
_warned = False

MARKS = "the recorded trace may lack marks"
"""What most faults cost."""

LOST = "this recording is lost"


def report(doing: str, fault: Exception, costs: str = MARKS) -> None:
    """Warn about the first fault of the process; later ones go to the log only.

    Args:
        doing: what failed, a phrase such as "marking a forward call".
        fault: the exception that was caught.
        costs: what the user goes without, a phrase.

    Raises:
        Exception: `fault` itself where it is none of ours: a handler for signals raised it, and
            happened to run while our code did. It is meant for the training script.
    """
    if _is_from_signal_handler(fault):
        try:
            raise fault
        finally:  # or it would be kept by its own traceback, and open ranges with it
            del fault
    message = (
        f"tb_hookview: {doing} failed ({type(fault).__name__}: {fault}); "
        f"training is not affected, {costs}"
    )
    warn(message, fault)


def warn(message: str, fault: Exception | None = None) -> None:
    """Warn, if nobody has been warned in this process; else leave it to the log.

    Args:
        message: the whole line.
        fault: what was caught, for the log.
    """
    global _warned
    try:
        if _warned:
            _log.debug(message, exc_info=fault)
            return
        _warned = True
        warnings.warn(message, RuntimeWarning, stacklevel=4)
    except Warning:  # the process turns warnings into errors; a fault of ours must not become one
        _log.warning(message)
    except Exception as second:  # whoever shows warnings here cannot show this one
        if _is_from_signal_handler(second):
            raise


def _is_from_signal_handler(fault: BaseException) -> bool:
    """Say whether a Python signal handler raised this: it runs between any two lines of ours."""
    codes = {_code(signal.getsignal(number)) for number in signal.valid_signals()} - {None}
    trace = fault.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in codes:
            return True
        trace = trace.tb_next
    return False


def _code(handler: object) -> CodeType | None:
    """Return the code that runs as a handler is called; None for what is not Python."""
    while isinstance(handler, functools.partial):
        handler = handler.func
    for function in (handler, getattr(handler, "__func__", None), type(handler).__call__):
        code = getattr(function, "__code__", None)
        if isinstance(code, CodeType):
            return code
    return None
