"""An executor whose workers are processes of our own, started for the calls at hand."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from contextlib import suppress
from select import select
from threading import Condition, Thread
from time import monotonic
from typing import Any, BinaryIO, TypeVar, cast

from tb_hookview.workers.count import VARIABLE
from tb_hookview.workers.errors import WorkerDiedError, WorkerError
from tb_hookview.workers.messages import read, write

START_S = 0.2
"""Seconds until a new process has imported what it needs, about."""

PATIENCE_S = 60.0
"""Seconds that a process which was started ahead waits for a call."""

_PROGRAM = (
    "import sys; sys.path[:] = sys.argv[1:]; {}from tb_hookview.workers.work import work; work()"
)
# Our own search path before anything is imported, and never the current directory.
_PIPE_BYTES = 1 << 20
_ENDS_WITHIN_S = 0.5
"""Seconds that a process may take to end after it closed its output."""

_Result = TypeVar("_Result")


class Workers(Executor):
    """At most `most` processes, started as calls come in and ended when none is left.

    Args:
        most: processes at once.
        preload: a module that each process imports as it starts.
        environment: variables of the processes; those of this process by default, with the
            number of processes set to 1.
    """

    def __init__(
        self, most: int, preload: str = "", environment: Mapping[str, str] | None = None
    ) -> None:
        self._most = most
        self._program = _PROGRAM.format(f"import {preload}; " if preload else "")
        self._environment = {**os.environ, VARIABLE: "1"} if environment is None else environment
        self._calls: deque[_Call] = deque()
        self._processes: set[_Process] = set()
        self._changed = Condition()
        self._ended = False

    def prepare(self, count: int) -> None:
        """Start processes now, up to a number of them, for calls within the next minute."""
        with self._changed:
            while len(self._processes) < min(count, self._most):
                self._start(PATIENCE_S)

    def ready_in(self) -> list[float]:
        """Return seconds until each process without a call could begin, about; soonest first."""
        with self._changed:
            idle = [process.ready_in() for process in self._processes if process.is_idle]
            new = [START_S] * (self._most - len(self._processes))
            return sorted(idle + new)[len(self._calls) :]

    def submit(
        self, function: Callable[..., _Result], /, *args: Any, **kwargs: Any
    ) -> Future[_Result]:
        """Call a function of a module in another process.

        The future raises `WorkerError` where that fails; its `cancel` ends the process of a call
        under way.
        """
        call = _Call(function, args, kwargs)
        with self._changed:
            if self._ended:
                raise RuntimeError("cannot schedule new futures after shutdown")
            self._calls.append(call)
            idle = sum(process.is_idle for process in self._processes)
            if len(self._calls) > idle and len(self._processes) < self._most:
                self._start(0.0)
            self._changed.notify()
        return call

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Refuse further calls; with `cancel_futures` end those under way too."""
        with self._changed:
            self._ended = True
            if cancel_futures:
                for call in self._calls:
                    call.cancel()
                for process in self._processes:
                    process.kill()
            self._changed.notify_all()
            while wait and self._processes:
                self._changed.wait()

    def _start(self, patience: float) -> None:
        """Make a process, and the thread that hands calls to it; with the lock held."""
        process = _Process(self._program, self._environment)
        self._processes.add(process)
        Thread(target=self._serve, args=(process, patience), daemon=True).start()

    def _serve(self, process: _Process, patience: float) -> None:
        with suppress(OSError):  # the first call meets it again, and says so
            process.start()
        while (call := self._next(process, patience)) is not None:
            patience = 0.0
            call.process = process
            try:
                result, problem = process.answer(call.what)
            except Exception as error:  # noqa: BLE001  # whatever it is, who waits must hear of it
                call.set_exception(WorkerDiedError(process.died() or str(error) or repr(error)))
            else:
                if problem:
                    call.set_exception(WorkerError(problem))
                else:
                    call.set_result(result)
            call.process = None

    def _next(self, process: _Process, patience: float) -> _Call | None:
        """Wait for a call; where none comes, the process ends."""
        until = monotonic() + patience
        with self._changed:
            process.is_idle = True
            while not self._calls and not self._ended and (left := until - monotonic()) > 0:
                self._changed.wait(left)
            while self._calls:
                call = self._calls.popleft()
                if call.set_running_or_notify_cancel():
                    process.is_idle = False
                    return call
            process.end()
            self._processes.discard(process)
            self._changed.notify_all()
        return None


class _Call(Future[Any]):
    def __init__(self, *what: Any) -> None:
        super().__init__()
        self.what = what
        self.process: _Process | None = None
        """The one that makes it, as long as it does."""

    def cancel(self) -> bool:
        cancelled = super().cancel()
        if not cancelled and self.process:
            self.process.kill()
        return cancelled


class _Process:
    """A process that runs `work`, and another in its place when it died."""

    def __init__(self, program: str, environment: Mapping[str, str]) -> None:
        self.is_idle = True
        """Whether it takes the next call."""
        self._program, self._environment = program, environment
        self._popen: subprocess.Popen[bytes] | None = None
        self._born = monotonic()
        self._ready = False

    def start(self) -> subprocess.Popen[bytes]:
        """Start it unless it runs.

        Raises:
            OSError: it cannot be started.
        """
        if self._popen is None:
            self._born, self._ready = monotonic(), False
            self._popen = subprocess.Popen(
                [sys.executable, "-c", self._program, *_search_path()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=self._environment,
                start_new_session=True,  # an interrupt from the terminal is for us alone
                pipesize=_PIPE_BYTES,
            )
        return self._popen

    def ready_in(self) -> float:
        """Seconds until it can begin, about: it says when it can, where we can listen."""
        popen = self._popen
        if popen and popen.stdout and os.name == "posix":
            with suppress(ValueError, OSError):  # more files are open than `select` knows
                if self._ready or select([popen.stdout], [], [], 0)[0]:
                    return 0.0
        return max(0.05, START_S - (monotonic() - self._born))

    def answer(self, what: tuple[Any, ...]) -> tuple[Any, str | None]:
        """Return the result of a call and what was wrong with it.

        Raises:
            EOFError, OSError: it died.
        """
        popen = self.start()
        stdin, stdout = cast(BinaryIO, popen.stdin), cast(BinaryIO, popen.stdout)
        write(stdin, what)
        if not self._ready:
            read(stdout)
            self._ready = True
        answer: tuple[Any, str | None] = read(stdout)
        return answer

    def kill(self) -> None:
        """End it now; who waits for its answer hears that it died."""
        if popen := self._popen:
            popen.kill()

    def died(self) -> str:
        """Clear up after it; return how it ended, "" where it had to be ended."""
        popen, code = self._popen, None
        if popen:
            with suppress(subprocess.TimeoutExpired):
                code = popen.wait(_ENDS_WITHIN_S)
        self.end()
        if code is None:
            return ""
        return f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"

    def end(self) -> None:
        """End it, if it runs."""
        popen, self._popen = self._popen, None
        if popen:
            popen.kill()
            with suppress(OSError):
                popen.communicate()


def _search_path() -> list[str]:
    return [path for path in sys.path if isinstance(path, str) and path]
