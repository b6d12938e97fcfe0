"""Writes what is being recorded where SIGTERM would end the process, as schedulers send it.

Only the default action is replaced, and only while something is recorded: a script with a handler
of its own decides itself when its training ends, and with it the recording.

Python runs a handler between two of its own instructions, so never while a thread is blocked in a
collective whose peer is gone. The handler beneath it writes to a pipe in any case, and the thread
that reads it bounds the time.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import FileIO
from types import FrameType

from tb_hookview.recorder import faults

SECONDS = 20.0
"""Longest time that an end is put off; launchers kill after 30 s or so."""

_write: Callable[[], str] | None = None
_process = 0
_bound: FileIO | None = None
"""The pipe's end to write to; it is open while signals are watched."""
_holders: set[object] = set()
_ending = False
_outcome = ""


def watch(write: Callable[[], str]) -> None:
    """Call a function when SIGTERM comes, and then let the signal end the process.

    It does nothing where the script handles SIGTERM, outside of the main thread, or on Windows,
    where no process can send it.

    Args:
        write: writes what is recorded; returns why there is nothing to write, "" for no comment.
    """
    global _write, _process
    possible = os.name == "posix" and _is_main_thread()
    if possible and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        _end_bound()
        _begin_bound()
        _write, _process = write, os.getpid()
        signal.signal(signal.SIGTERM, _end)


def unwatch() -> None:
    """Restore the default action, unless the script has set a handler meanwhile."""
    global _write
    if _is_main_thread():
        if signal.getsignal(signal.SIGTERM) is _end:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _write = None
        _end_bound()


@contextmanager
def held() -> Iterator[None]:
    """Let a signal wait until the block is done: a recording that starts or stops is whole then."""
    global _outcome
    if not _is_main_thread():
        yield
        return
    holder = object()
    if not _holders:
        _outcome = ""
    try:
        _holders.add(holder)
        yield
    finally:
        _holders.discard(holder)
        if _ending and not _holders:
            _finish()


def note(outcome: str) -> None:
    """Note what became of a recording, for the line that is written where a signal came."""
    global _outcome
    _outcome = outcome


def _end(_number: int, _frame: FrameType | None) -> None:
    global _ending
    if os.getpid() != _process or _write is None:
        _die()
    elif not _ending:  # a scheduler signals the launcher too, which passes it on
        _ending = True
        if _bound is not None:
            _bound.write(bytes([signal.SIGTERM]))
        with held():  # at its end, or that of the block around it, the process ends
            pass


def _finish() -> None:
    _holders.add(_finish)  # what ends a recording holds signals itself
    try:
        why = _write() if _write is not None else ""
        if text := _outcome or why:
            _say(f"SIGTERM: {text}")
    except Exception as fault:  # noqa: BLE001 - the process has to end
        faults.report("ending a recording for SIGTERM", fault, faults.LOST)
    _die()


def _begin_bound() -> None:
    global _bound
    read_end, write_end = os.pipe()
    _bound = FileIO(write_end, "w")
    os.set_blocking(write_end, False)
    threading.Thread(target=_give_up_after, args=(read_end,), daemon=True).start()
    before = signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    if before != -1:  # an event loop's; the handler writes to ours
        signal.set_wakeup_fd(before)


def _end_bound() -> None:
    if _bound is None or _bound.closed:
        return
    before = signal.set_wakeup_fd(-1)
    if before not in (-1, _bound.fileno()):
        signal.set_wakeup_fd(before)
    _bound.close()


def _give_up_after(read_end: int) -> None:
    """Once SIGTERM is for us, end the process in a while, if it is still there."""
    while number := os.read(read_end, 1):
        if number[0] == signal.SIGTERM and signal.getsignal(signal.SIGTERM) is _end:
            time.sleep(SECONDS)
            if _write is not None or _ending:
                long = f"more than {SECONDS:.0f} s"
                _say(f"SIGTERM: the recording is not written, as that takes {long}")
                os._exit(128 + signal.SIGTERM)
    os.close(read_end)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _say(text: str) -> None:
    os.write(2, f"tb_hookview: {text}\n".encode())


def _die() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTERM)
