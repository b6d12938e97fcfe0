"""What a server has open: each state of a source is read once, by as many threads as cores."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Generic, Protocol, TypeVar
from weakref import WeakSet

from tb_hookview.errors import HookviewError, NotFoundError, TraceError
from tb_hookview.loading.cached_reader import CachedReader
from tb_hookview.progress import Count, Progress
from tb_hookview.report.open_trace import Budget, Opened, OpenTrace
from tb_hookview.schema.runs import ReadingProgress
from tb_hookview.trace.source.file import TraceFile
from tb_hookview.workers.limits import cores

MOST = 1000
"""States of sources that are remembered."""

STOPS_WITHIN_S = 5.0
"""Seconds that the end of the program waits for readings to stop."""

ASKED_EVERY_S = 0.2
"""Seconds between two looks of a request whether its client still waits."""

WAITING = ReadingProgress("waiting", None)
READS = frozenset({"downloading", "decoding", "ranks"})
"""Stages that read files."""

Wanted = Callable[[], bool]
"""Returns whether what was asked for is still wanted; called from any thread."""


class UnwantedError(HookviewError):
    """The work was given up, because nobody waited for it any more."""

    def __init__(self) -> None:
        super().__init__("request cancelled")


class ChangedError(TraceError):
    """The file was written to while it was read."""

    def __init__(self, address: str) -> None:
        reason = "is being written to"
        super().__init__(address, reason, "load it again when whoever writes it is done")


def always() -> bool:
    """Return true: wanted until it is there."""
    return True


class State(Protocol):
    """State of a source, another one whenever its content is."""

    @property
    def size(self) -> int:
        """Bytes as stored."""


class Source(Protocol):
    """What is read: a trace file, or the files of a run. Equal ones are the same."""

    def __hash__(self) -> int:
        """Return the same for equal ones."""

    @property
    def address(self) -> str:
        """Name by which users know it."""

    @property
    def name(self) -> str:
        """The last part of its address."""

    def state(self) -> State:
        """Return its state.

        Raises:
            OSError: it is gone.
        """


Asked = TypeVar("Asked", bound=Source)
Held = TypeVar("Held", bound=Opened[Any])
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class _Key(Generic[Asked]):
    """One state of a source; a file that is written to is another trace."""

    source: Asked
    state: State


@dataclass
class _Reading:
    future: Future[Any] = field(init=False)
    progress: ReadingProgress = WAITING
    waiting: int = 0
    """Requests that wait for it; at 0 it is given up."""
    given_up: bool = False


class Store(Generic[Asked, Held]):
    """What is open of sources, by their state. Safe to use from many threads.

    Args:
        read: reads a source.
        make: opens a source, given what reads it.
        budget: how much may be in memory.
        who: returns, for whoever is asking now, whether they still wait for the answer.
        at_once: how many are read at a time; as many as there are cores if None.
    """

    def __init__(
        self,
        read: Callable[[Asked, Progress, Count], Any],
        make: Callable[[Asked, Callable[[], Any]], Held],
        budget: Budget,
        who: Callable[[], Wanted] = lambda: always,
        at_once: int | None = None,
    ) -> None:
        self._source_read, self._make, self._budget, self._who = read, make, budget, who
        self._open: OrderedDict[_Key[Asked], Held] = OrderedDict()
        self._readings: dict[_Key[Asked], _Reading] = {}
        self._pool = ThreadPoolExecutor(at_once or cores(), "hookview-read")
        self._lock = Lock()
        self._closed = False
        _stores.add(self)

    def ask(self, source: Asked, question: Callable[[Held], Answer]) -> Answer:
        """Return the answer to a question about a source as it is now.

        Whoever needs one that is being read waits for that reading. One that fails is forgotten,
        so that the next to ask tries again. One that nobody waits for any more stops. An answer
        is about one state: one that is written to meanwhile is asked again.

        Raises:
            NotFoundError: the file is gone.
            TraceError: it cannot be read as a trace, or is being written to.
            UnwantedError: whoever asked has gone, or the store was closed.
        """
        try:
            return question(self.opened(source))
        except ChangedError:  # once more, before that is an error
            return question(self.opened(source))

    def opened(self, source: Asked) -> Held:
        """Return what is open of a source in its state now.

        Raises:
            NotFoundError: the file is gone.
        """
        key = _key(source)
        with self._lock:
            found = self._open.get(key)
            if found is None:
                found = self._open[key] = self._make(source, lambda: self._wait_for(key))
                found.budget, found.state = self._budget, (source.address, key.state)
            self._open.move_to_end(key)
            if len(self._open) > MOST:
                self._open.popitem(last=False)
        return found

    def progress(self, source: Asked) -> ReadingProgress:
        """Return the progress of reading a source; "waiting" if nobody asked for it."""
        key = _key(source)
        with self._lock:
            if reading := self._readings.get(key):
                return reading.progress
            found = self._open.get(key)
        if found is None or not found.is_read:
            return WAITING
        return ReadingProgress("done", 1.0, key.state.size, found.events)

    def close(self) -> None:
        """Give up all readings, and wait until they have stopped; further ones are refused."""
        with self._lock:
            self._closed = True
            readings = list(self._readings.values())
            for reading in readings:
                reading.given_up = True
        self._pool.shutdown(wait=False, cancel_futures=True)
        wait([r.future for r in readings if not r.future.done()], STOPS_WITHIN_S)

    def _wait_for(self, key: _Key[Asked]) -> Any:
        wanted = self._who()
        with self._lock:
            reading = self._readings.get(key) or self._begin(key)
            reading.waiting += 1
        try:
            while not reading.future.done():
                wait([reading.future], ASKED_EVERY_S)
                if not reading.future.done() and not wanted():
                    raise UnwantedError
            return reading.future.result()
        except CancelledError:
            raise UnwantedError from None
        finally:
            self._leave(key, reading)

    def _begin(self, key: _Key[Asked]) -> _Reading:
        """Put a reading in line; with the lock held."""
        if self._closed:
            raise UnwantedError
        reading = self._readings[key] = _Reading()
        reading.future = self._pool.submit(self._read, key, reading)
        return reading

    def _leave(self, key: _Key[Asked], reading: _Reading) -> None:
        with self._lock:
            reading.waiting -= 1
            if not reading.waiting:
                reading.given_up = True
                reading.future.cancel()
                self._forget(key, reading)

    def _read(self, key: _Key[Asked], reading: _Reading) -> Any:
        try:
            value = self._read_one_state(key, reading)
            with self._lock:
                found = self._open.get(key)
            return value if found is None else found.hold(value)
        finally:
            with self._lock:
                self._forget(key, reading)

    def _read_one_state(self, key: _Key[Asked], reading: _Reading) -> Any:
        events = 0

        def show(stage: str, done: float | None) -> None:
            if reading.given_up:
                raise UnwantedError
            size = key.state.size
            read = round(size * (done or 0.0)) if stage in READS else size
            reading.progress = ReadingProgress(stage, done, read, events)

        def count(number: int) -> None:
            nonlocal events
            events = number

        try:
            value = self._source_read(key.source, show, count)
        except TraceError as error:
            if _key(key.source) != key:
                raise ChangedError(key.source.address) from error
            raise
        if _key(key.source) != key:
            raise ChangedError(key.source.address)
        return value

    def _forget(self, key: _Key[Asked], reading: _Reading) -> None:
        """Remove a reading from the list, unless replaced; the caller holds the lock."""
        if self._readings.get(key) is reading:
            del self._readings[key]


def trace_store(
    reader: Callable[[], CachedReader], budget: Budget, who: Callable[[], Wanted] = lambda: always
) -> Store[TraceFile, OpenTrace]:
    """Return a store of open traces.

    Args:
        reader: reads them; asked at the first question, which hears what is wrong.
        budget: how much may be in memory.
        who: as of `Store`.
    """
    return Store(
        lambda *asked: reader().analysis(*asked),
        lambda file, read: OpenTrace(read, lambda: reader().reports(file)),
        budget,
        who,
    )


def _key(source: Asked) -> _Key[Asked]:
    try:
        return _Key(source, source.state())
    except OSError as error:
        name = source.name.encode("utf-8", "replace").decode()
        raise NotFoundError(f"{name}: the file is gone; load the list again") from error


_stores: WeakSet[Store[Any, Any]] = WeakSet()


def _close_all() -> None:
    for store in list(_stores):
        store.close()


# Before the program ends it waits for the threads of every pool, and `atexit` comes later than
# that; `concurrent.futures` registers its own end in the same way.
threading._register_atexit(_close_all)  # type: ignore[attr-defined]
