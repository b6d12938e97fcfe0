"""A worker's main loop: calls functions read from standard input until it closes."""

from __future__ import annotations

import os
import pickle
import sys
from queue import SimpleQueue
from threading import Thread
from typing import Any, BinaryIO

_MAGIC = b"\0hookview\n"
"""Before each message: what anything else writes to the same pipe is not one."""


def work() -> None:
    """Answer each call until the starting process ends."""
    calls: SimpleQueue[Any] = SimpleQueue()
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a function prints is not an answer
    Thread(target=_listen, args=(calls,), daemon=True).start()
    write(out, None)  # ready
    while True:
        write(out, _called(*calls.get()))


def _listen(calls: SimpleQueue[Any]) -> None:
    try:
        while True:
            calls.put(read(sys.stdin.buffer))
    finally:
        os._exit(0)


def _called(function: Any, args: Any, kwargs: Any) -> tuple[Any, str | None]:
    """Return its result, or what it raised as text: not every exception can be sent."""
    try:
        return function(*args, **kwargs), None
    except Exception as error:  # noqa: BLE001  # whoever called gets it, whatever it is
        return None, f"{type(error).__name__}: {error}"


def write(stream: BinaryIO, value: Any) -> None:
    """Write a value.

    Raises:
        OSError: nobody reads any more.
    """
    stream.write(_MAGIC)
    pickle.dump(value, stream, protocol=5)
    stream.flush()


def read(stream: BinaryIO) -> Any:
    """Read a value that a process of ours wrote.

    Raises:
        EOFError: the pipe ended, or holds something else.
        pickle.UnpicklingError: it ended amid the value.
    """
    if stream.read(len(_MAGIC)) != _MAGIC:
        raise EOFError
    return pickle.load(stream)
