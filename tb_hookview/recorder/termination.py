"""Writes what is being recorded where SIGTERM would end the process, as schedulers send it.

Only the default action is replaced, and only while something is recorded: a script with a handler
of its own decides itself when its training ends, and with it the recording.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType

from tb_hookview.recorder import faults

SECONDS = 20.0
"""Longest time that an end is put off; launchers kill after 30 s or so."""

_write: Callable[[], str] | None = None
_process = 0
_ending = False
_writing = False


def watch(write: Callable[[], str]) -> None:
    """Call a function when SIGTERM comes, and then let the signal end the process.

    It does nothing where the script handles SIGTERM, or outside of the main thread.

    Args:
        write: writes what is recorded; returns why there is nothing to write, "" for no comment.
    """
    global _write, _process
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        _write, _process = write, os.getpid()
        signal.signal(signal.SIGTERM, _end)


def unwatch() -> None:
    """Restore the default action, unless the script has set a handler meanwhile."""
    global _write
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGTERM) is _end:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _write = None


def begin_writing() -> None:
    """Let a signal that comes from now on wait until the file is whole."""
    global _writing
    _writing = True


def end_writing(outcome: str) -> None:
    """End the process, if a signal asked for it meanwhile.

    Args:
        outcome: what became of the recording, one line for the user.
    """
    global _writing
    _writing = False
    if _ending:
        _say(f"SIGTERM: {outcome}")
        _die()


def _end(_number: int, _frame: FrameType | None) -> None:
    global _ending
    if os.getpid() != _process or _write is None:
        _die()
    elif _ending:
        _say("a second SIGTERM came, so the recording is not written")
        _die()
    else:
        _ending = True
        timer = threading.Timer(SECONDS, _give_up)
        timer.daemon = True
        timer.start()
        if not _writing:
            try:
                if why := _write():
                    _say(f"SIGTERM: {why}")
            except Exception as fault:  # noqa: BLE001 - the process has to end
                faults.report("ending a recording for SIGTERM", fault, faults.LOST)
            _die()


def _give_up() -> None:
    _say(f"SIGTERM: the recording is not written, as that takes more than {SECONDS:.0f} s")
    os._exit(128 + signal.SIGTERM)


def _say(text: str) -> None:
    os.write(2, f"tb_hookview: {text}\n".encode())


def _die() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTERM)
