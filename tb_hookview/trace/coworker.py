"""A second process that decodes the later blocks of a large file while this one decodes the first.

Python decodes on one core at a time, and a file of hundreds of megabytes is worth a second. Both
processes inflate and cut the whole text, which is quick and gives the same pieces; each decodes its
share. What the second one took comes back through its standard output as a `Part`.

It starts as late as is good for a file of its size, or ahead of time by `prepare`. When anything
goes wrong with it, the file is read here as if it had never been.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from select import select
from threading import Lock
from time import monotonic
from typing import BinaryIO, cast

from tb_hookview.cache import file_state
from tb_hookview.trace.source.size import BLOCK, estimated_size

PROCESSES = "HOOKVIEW_PROCESSES"
"""Environment variable: 1 keeps reading within this process."""

START_S = 0.3
"""Seconds until a new process can begin to decode, about."""

BYTES_PER_S = 150e6
"""Bytes of JSON that one process decodes in a second, about. Only the shares depend on it."""

SMALLEST_SHARE = 24 << 20
"""Bytes below which the second process has too little to do: at 16 MB it gained nothing, and cost
twice the processor's time and memory."""

MAGIC = b"\0hookview\n"
"""Before each message: what anything else writes to the same output is none."""

_PROGRAM = (
    "import sys; sys.path[:] = sys.argv[1:]; from tb_hookview.trace.coworking import main; main()"
)
# Our own search path before anything is imported, and never the folder that the user stands in,
# which may be that of a stranger's trace.


class Coworker:
    """The second process. It serves one file, and ends with this process whatever happens."""

    def __init__(self) -> None:
        import subprocess  # four more modules, which small files do without

        self.born = monotonic()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, *(p for p in sys.path if isinstance(p, str) and p)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # an interrupt from the terminal is for us alone
        )

    @property
    def is_alive(self) -> bool:
        """Whether it runs still: one that waits for too long ends itself."""
        return self._process.poll() is None

    def ready_in(self) -> float:
        """Seconds until it can begin, about: it tells when it can, where we can listen."""
        stdout = cast(BinaryIO, self._process.stdout)
        with suppress(ValueError):  # more files are open than it can tell of
            if os.name == "posix" and select([stdout], [], [], 0)[0]:
                return 0.0
        return max(0.05, START_S - (monotonic() - self.born))

    def begin(self, path: Path, first: int) -> None:
        """Let it decode a file from the block `first` on."""
        with suppress(OSError):
            job = {"path": str(path.absolute()), "first": first, "state": file_state(path)}
            stdin = cast(BinaryIO, self._process.stdin)
            stdin.write(json.dumps(job).encode() + b"\n")
            stdin.flush()

    def messages(self) -> Iterator[bytes]:
        """What it tells, until it has told all or is gone."""
        stdout = cast(BinaryIO, self._process.stdout)
        while stdout.read(len(MAGIC)) == MAGIC:
            length = int.from_bytes(stdout.read(8), "little")
            message = stdout.read(length)
            if len(message) < length:
                return
            yield message

    def stop(self) -> None:
        """End it now."""
        self._process.kill()
        with suppress(OSError):
            self._process.communicate()


_waiting: list[Coworker] = []
_busy = Lock()


def prepare(path: Path) -> None:
    """Start the second process now, for a file that will be read within the next minute, if it is
    worth that: what must be imported first takes both processes as long."""
    if not _allowed() or not _busy.acquire(blocking=False):
        return
    try:
        if not any(coworker.is_alive for coworker in _waiting):
            _waiting[:] = _started() if _size(path) >= 2 * SMALLEST_SHARE else ()
    finally:
        _busy.release()


@contextmanager
def coworker_for(path: Path) -> Iterator[tuple[Coworker, int, int] | None]:
    """Begin the second process's share of a file; give it, the block at which that begins, and how
    many blocks there are, about.

    None where it would not pay, or may not be. At most one is at work at a time.
    """
    if not _allowed() or not _busy.acquire(blocking=False):
        yield None
        return
    helper = None
    try:
        size = _size(path)
        if first := _first_block(size):
            helper = next(iter(_taken() or _started()), None)
        if helper and first:
            helper.begin(path, first)
            yield helper, first, size // BLOCK + 1
        else:
            yield None
    finally:
        if helper:
            helper.stop()
        _busy.release()


def _allowed() -> bool:
    # In a frozen program, `sys.executable` is that program and no Python.
    is_python = bool(sys.executable) and not getattr(sys, "frozen", False)
    return is_python and cores() > 1 and os.environ.get(PROCESSES) != "1"


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _size(path: Path) -> int:
    try:
        return estimated_size(path)
    except OSError:  # whoever reads it says so
        return 0


def _first_block(size: int) -> int | None:
    """The block from which on a second process pays, so that both end together; None for none."""
    until_ready = min((c.ready_in() for c in _waiting if c.is_alive), default=START_S)
    own = (size + until_ready * BYTES_PER_S) / 2
    return round(own / BLOCK) if size - own >= SMALLEST_SHARE else None


def _taken() -> list[Coworker]:
    taken = [coworker for coworker in _waiting if coworker.is_alive]
    _waiting.clear()
    return taken


def _started() -> list[Coworker]:
    try:
        return [Coworker()]
    except OSError:
        return []
