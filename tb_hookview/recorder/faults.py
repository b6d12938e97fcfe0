"""The recorder's own faults: one warning per process, never an error in the training loop."""

from __future__ import annotations

import logging
import warnings

_log = logging.getLogger(__name__)
_warned = False


def report(doing: str, fault: BaseException) -> None:
    """Warn about the first fault of the process; later ones go to the log only.

    Args:
        doing: what failed, a phrase such as "marking a forward call".
        fault: the exception that was caught.
    """
    global _warned
    message = (
        f"tb_hookview: {doing} failed ({type(fault).__name__}: {fault}); "
        "training is not affected, the recorded trace may lack marks"
    )
    if _warned:
        _log.debug(message, exc_info=fault)
        return
    _warned = True
    try:
        warnings.warn(message, RuntimeWarning, stacklevel=3)
    except Warning:  # the process turns warnings into errors; a fault of ours must not become one
        _log.warning(message)
