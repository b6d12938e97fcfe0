"""Many traces read at once, each worker a process of its own: one core reads one trace.

A worker gets a path on its standard input and answers on its standard output, one line of JSON
each. It is started with the very search path of this process, so that nothing is imported from the
folder that the command is called in.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import NamedTuple

from tb_hookview.cache import VARIABLE
from tb_hookview.errors import HookviewError
from tb_hookview.trace.coworker import PROCESSES

_WORKER = """
import sys
sys.path[:] = sys.argv[1:]
from tb_hookview.cli.filling import work
work()
"""


_Process = subprocess.Popen[str]


class Outcome(NamedTuple):
    """What became of a trace."""

    added: bool
    problem: str | None = None
    """One line that names the file, where there was one."""


def filled(paths: Sequence[Path], folder: Path, workers: int) -> Iterator[Outcome]:
    """Keep columns and report of traces, several at once; yield as they are done.

    Args:
        paths: absolute paths of the traces; the first are begun first.
        folder: the folder of the cache.
        workers: most processes at once.
    """
    outcomes: SimpleQueue[Outcome] = SimpleQueue()
    turns = _Turns(paths, folder, alone=min(workers, len(paths)) > 1)
    threads = [Thread(target=turns.work, args=(outcomes,)) for _ in range(min(workers, len(paths)))]
    for thread in threads:
        thread.start()
    try:
        for _ in paths:
            yield outcomes.get()
    finally:
        turns.stop()
        for thread in threads:
            thread.join()


class _Turns:
    """Hands out paths to workers, each of which one thread waits for."""

    def __init__(self, paths: Sequence[Path], folder: Path, *, alone: bool) -> None:
        """`alone`: each worker keeps to one core."""
        self._left = iter(paths)
        self._environment = {**os.environ, VARIABLE: str(folder)}
        if alone:
            self._environment[PROCESSES] = "1"
        self._lock = Lock()
        self._running: set[_Process] = set()
        self._stopped = False

    def work(self, outcomes: SimpleQueue[Outcome]) -> None:
        """Give one worker path after path; another follows one that died."""
        worker: _Process | None = None
        while (path := self._next()) is not None:
            worker, outcome = self._asked(worker, path)
            outcomes.put(outcome)
        self._end(worker)

    def _asked(self, worker: _Process | None, path: Path) -> tuple[_Process | None, Outcome]:
        try:
            worker = worker or self._started()
            return worker, _ask(worker, path)
        except OSError as error:
            self._end(worker)
            return None, Outcome(False, f"{path}: not read ({error.strerror or error})")

    def stop(self) -> None:
        """End all workers, whatever they are at: nothing half written is ever seen."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                process.terminate()

    def _next(self) -> Path | None:
        with self._lock:
            return None if self._stopped else next(self._left, None)

    def _started(self) -> _Process:
        with self._lock:
            worker = subprocess.Popen(
                [sys.executable, "-c", _WORKER, *filter(None, sys.path)],
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            self._running.add(worker)
        return worker

    def _end(self, worker: _Process | None) -> None:
        if worker is not None:
            with suppress(OSError):  # it has died
                worker.communicate()
            with self._lock:
                self._running.discard(worker)


def _ask(worker: _Process, path: Path) -> Outcome:
    """Return what a worker says of a trace.

    Raises:
        ChildProcessError: it died of it.
        OSError: it had died before.
    """
    assert worker.stdin
    assert worker.stdout
    worker.stdin.write(json.dumps(str(path)) + "\n")
    worker.stdin.flush()
    answer = worker.stdout.readline()
    if answer:
        return Outcome(*json.loads(answer))
    code = worker.wait()
    how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
    raise ChildProcessError(f"its process ended {how}; is there enough memory?")


def work() -> None:
    """What a worker does: keep each trace it is told, and say what became of it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started it ends it
    for line in sys.stdin:
        sys.stdout.write(json.dumps(_kept(Path(json.loads(line)))) + "\n")
        sys.stdout.flush()


def _kept(path: Path) -> Outcome:
    from tb_hookview.loading.cached import fill

    try:
        return Outcome(fill(path))
    except HookviewError as error:
        return Outcome(False, str(error))
    except OSError as error:
        return Outcome(False, f"{path}: cannot be kept ({error.strerror})")
    except Exception as error:  # noqa: BLE001  # of a fault of ours too the others are kept
        return Outcome(False, f"{path}: cannot be kept ({type(error).__name__}: {error})")
