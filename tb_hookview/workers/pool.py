"""An executor whose workers are processes of our own, started for the calls at hand."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from select import select
from threading import Lock, Timer
from time import monotonic
from typing import Any, BinaryIO, TypeVar, cast
from weakref import WeakKeyDictionary

from tb_hookview.workers.limits import VARIABLE, WorkerDiedError, WorkerError
from tb_hookview.workers.work import read, write

START_S = 0.2
"""Seconds until a new process has imported what it needs, about."""

LATE_S = 0.05
"""Seconds that one which took longer is taken to need still, until it says that it is ready."""

PATIENCE_S = 60.0
"""Seconds that processes which were started ahead wait for a call."""

_PROGRAM = (
    "import sys; sys.path[:] = sys.argv[1:]; {}from tb_hookview.workers.work import work; work()"
)
# Our own search path before anything is imported, and never the current directory.
_PIPE_BYTES = 1 << 20
_ENDS_WITHIN_S = 0.5
"""Seconds that a process may take to end after it closed its output."""

_Result = TypeVar("_Result")


class Workers(ThreadPoolExecutor):
    """At most `most` processes, started as calls come in and ended when none is left.

    A thread hands calls to each.

    Args:
        most: processes at once.
        preload: a module that each process imports as it starts.
        environment: variables of the processes; those of this process by default, with the
            number of processes set to 1.
    """

    def __init__(
        self, most: int, preload: str = "", environment: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(most, "hookview-worker")
        self._most = most
        self._program = _PROGRAM.format(f"import {preload}; " if preload else "")
        self._environment = {**os.environ, VARIABLE: "1"} if environment is None else environment
        self._calls: WeakKeyDictionary[Future[Any], _Call] = WeakKeyDictionary()
        self._idle: list[_Process] = []
        self._left = 0
        """Calls that are not done."""
        self._lock = Lock()

    def prepare(self, count: int) -> None:
        """Start processes now, up to a number of them, for calls within the next minute."""
        with self._lock, suppress(OSError):  # the first call meets it again, and says so
            while len(self._idle) + self._left < min(count, self._most):
                self._idle.append(_Process(self._program, self._environment))
        timer = Timer(PATIENCE_S, self._end_idle)
        timer.daemon = True
        timer.start()

    def ready_in(self) -> list[float]:
        """Return seconds until each process without a call could begin, about; soonest first."""
        with self._lock:
            free = max(self._most - self._left, 0)
            return sorted([*(process.ready_in() for process in self._idle), *[START_S] * free])[
                :free
            ]

    def submit(
        self, function: Callable[..., _Result], /, *args: Any, **kwargs: Any
    ) -> Future[_Result]:
        """Call a function of a module in another process; the future raises `WorkerError`."""
        call = _Call((function, args, kwargs))
        with self._lock:
            future = super().submit(self._answer, call)
            self._calls[future] = call
            self._left += 1
        future.add_done_callback(self._done)
        return future

    def stop(self, future: Future[Any]) -> None:
        """Cancel a call, or end the process that makes it."""
        if not future.cancel():
            self._calls[future].stop()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Refuse further calls; with `cancel_futures` end those under way too."""
        super().shutdown(wait=False, cancel_futures=cancel_futures)
        if cancel_futures:
            for future in list(self._calls):
                self.stop(future)
        super().shutdown(wait)
        self._end_idle()

    def _answer(self, call: _Call) -> Any:
        """Return the result of a call; on a thread of the pool."""
        try:
            process = self._process()
        except OSError as error:
            raise WorkerDiedError(str(error)) from error
        try:
            result, problem = call.made_by(process)
        except Exception as error:
            raise WorkerDiedError(process.died() or str(error) or repr(error)) from error
        with self._lock:
            self._idle.append(process)
        if problem:
            raise WorkerError(problem)
        return result

    def _process(self) -> _Process:
        with self._lock:
            if self._idle:
                return self._idle.pop(0)
        return _Process(self._program, self._environment)

    def _done(self, _future: Future[Any]) -> None:
        with self._lock:
            self._left -= 1
        if not self._left:
            self._end_idle()

    def _end_idle(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for process in idle:
            process.end()


class _Call:
    def __init__(self, what: tuple[Any, ...]) -> None:
        self._what = what
        self._process: _Process | None = None
        self._stopped = False
        self._lock = Lock()

    def made_by(self, process: _Process) -> tuple[Any, str | None]:
        """Return the result and what was wrong with it, as `_Process.answer`."""
        with self._lock:
            self._process = process
            if self._stopped:
                process.kill()
        answer = process.answer(self._what)
        with self._lock:
            self._process = None
        return answer

    def stop(self) -> None:
        """End the process that makes it."""
        with self._lock:
            self._stopped = True
            if self._process:
                self._process.kill()


class _Process:
    """A process that runs `work`.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(self, program: str, environment: Mapping[str, str]) -> None:
        self._born, self._ready = monotonic(), False
        self._popen = subprocess.Popen(
            [sys.executable, "-c", program, *_search_path()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,  # an interrupt from the terminal is for us alone
            pipesize=_PIPE_BYTES,
        )

    def ready_in(self) -> float:
        """Seconds until it can begin, about; 0.0 where it says that it can."""
        with suppress(OSError, ValueError):  # closed, or more files are open than `select` knows
            if self._ready or select([cast(BinaryIO, self._popen.stdout)], [], [], 0)[0]:
                return 0.0
        return max(LATE_S, START_S - (monotonic() - self._born))

    def answer(self, what: tuple[Any, ...]) -> tuple[Any, str | None]:
        """Return the result of a call and what was wrong with it.

        Raises:
            EOFError, OSError: it died.
        """
        write(cast(BinaryIO, self._popen.stdin), what)
        stdout = cast(BinaryIO, self._popen.stdout)
        if not self._ready:
            read(stdout)
            self._ready = True
        answer: tuple[Any, str | None] = read(stdout)
        return answer

    def died(self) -> str:
        """Clear up after it; return how it ended, "" where it had to be ended."""
        code = None
        with suppress(subprocess.TimeoutExpired):
            code = self._popen.wait(_ENDS_WITHIN_S)
        self.end()
        if code is None:
            return ""
        return f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"

    def kill(self) -> None:
        """End it now; who waits for its answer hears that it died."""
        self._popen.kill()

    def end(self) -> None:
        """End it, if it runs, and close its pipes."""
        self.kill()
        with suppress(OSError):
            self._popen.communicate()


def _search_path() -> list[str]:
    return [path for path in sys.path if isinstance(path, str) and path]
