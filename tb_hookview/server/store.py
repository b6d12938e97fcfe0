"""Analyses, and what else is read of files, cached in memory: each is read once."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Generic, Protocol, TypeVar
from weakref import WeakSet

from cachetools import LRUCache
from msgspec.structs import astuple

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.errors import NotFoundError, TraceError
from tb_hookview.progress import Count
from tb_hookview.progress import Progress as Show
from tb_hookview.schema.runs import ReadingProgress
from tb_hookview.server.waiting import UnwantedError, Wanted, always
from tb_hookview.trace import Trace, TraceFile
from tb_hookview.workers.count import cores

CACHED_BYTES = 2 << 30
"""Bytes that analyses may take, with what is derived from them. A larger one is cached alone."""

PER_COLUMNS = 3
"""Memory of an analysis with its timeline, in multiples of its columns; measured: 2 to 3."""

STOPS_WITHIN_S = 5.0
"""Seconds that the end of the program waits for readings to stop."""

ASKED_EVERY_S = 0.2
"""Seconds between two looks of a request whether its client still waits."""

Derived = TypeVar("Derived")
Value = TypeVar("Value")
Load = Callable[[TraceFile, Show, Count], Analysis]

WAITING = ReadingProgress("waiting", None)
READS = frozenset({"downloading", "decoding", "ranks"})
"""Stages that read files."""


class ChangedError(TraceError):
    """The file was written to while it was read."""

    def __init__(self, address: str) -> None:
        reason = "is being written to"
        super().__init__(address, reason, "load it again when whoever writes it is done")


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


@dataclass(frozen=True)
class _Key(Generic[Asked]):
    """One state of a source; a file that is written to is another trace."""

    source: Asked
    state: State


@dataclass
class _Entry(Generic[Value]):
    value: Value
    derived: dict[Any, Any] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)


@dataclass
class _Reading(Generic[Value]):
    future: Future[_Entry[Value]] = field(init=False)
    progress: ReadingProgress = WAITING
    waiting: int = 0
    """Requests that wait for it; at 0 it is given up."""
    given_up: bool = False


class ReadingStore(Generic[Asked, Value]):
    """What was read of sources, least recently used dropped first. Safe to use from many threads.

    Args:
        load: reads a source.
        cached: how much may be cached, in what `size` gives.
        size: of a value.
        who: returns, for whoever is asking now, whether they still wait for the answer.
        at_once: how many are read at a time; as many as there are cores if None.
    """

    def __init__(
        self,
        load: Callable[[Asked, Show, Count], Value],
        cached: int,
        size: Callable[[Value], int],
        who: Callable[[], Wanted] = lambda: always,
        at_once: int | None = None,
    ) -> None:
        self._load, self._who = load, who
        self._cached: LRUCache[_Key[Asked], _Entry[Value]] = LRUCache(
            cached, lambda entry: min(size(entry.value), cached)
        )
        self._readings: dict[_Key[Asked], _Reading[Value]] = {}
        self._pool = ThreadPoolExecutor(at_once or cores(), "hookview-read")
        self._lock = Lock()
        self._closed = False
        _stores.add(self)

    def get(self, source: Asked) -> Value:
        """Return what a source holds, reading it if need be.

        Whoever asks for one that is being read waits for that reading. One that fails is
        forgotten, so that the next to ask tries again. One that nobody waits for any more stops.
        What is returned is of one state: what is written to meanwhile is read again.

        Raises:
            NotFoundError: the file is gone.
            TraceError: it cannot be read as a trace, or is being written to.
            UnwantedError: whoever asked has gone, or the store was closed.
        """
        return self._entry(source).value

    def derived(self, source: Asked, make: Callable[[Value], Derived]) -> Derived:
        """Return `make` of what a source holds, cached as long as that is.

        Raises:
            NotFoundError, TraceError, UnwantedError: as `get`.
        """
        entry = self._entry(source)
        with entry.lock:
            if make not in entry.derived:
                entry.derived[make] = make(entry.value)
            made: Derived = entry.derived[make]
        return made

    def progress(self, source: Asked) -> ReadingProgress:
        """Return the progress of reading a source; "waiting" if nobody asked for it."""
        key = _key(source)
        with self._lock:
            if reading := self._readings.get(key):
                return reading.progress
            entry = self._cached.get(key)
        if entry is None:
            return WAITING
        return ReadingProgress("done", 1.0, key.state.size, self._events(entry.value))

    def close(self) -> None:
        """Give up all readings, and wait until they have stopped; further ones are refused."""
        with self._lock:
            self._closed = True
            readings = list(self._readings.values())
            for reading in readings:
                reading.given_up = True
        self._pool.shutdown(wait=False, cancel_futures=True)
        wait([r.future for r in readings if not r.future.done()], STOPS_WITHIN_S)

    def _events(self, _value: Value) -> int | None:
        """Events that were read, where that is counted."""
        return None

    def _entry(self, source: Asked) -> _Entry[Value]:
        wanted = self._who()
        try:
            return self._attempt(_key(source), wanted)
        except ChangedError:  # once more, before that is an error
            return self._attempt(_key(source), wanted)

    def _attempt(self, key: _Key[Asked], wanted: Wanted) -> _Entry[Value]:
        with self._lock:
            if entry := self._cached.get(key):
                return entry
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

    def _begin(self, key: _Key[Asked]) -> _Reading[Value]:
        """Put a reading in line; with the lock held."""
        if self._closed:
            raise UnwantedError
        reading = self._readings[key] = _Reading()
        reading.future = self._pool.submit(self._read, key, reading)
        return reading

    def _leave(self, key: _Key[Asked], reading: _Reading[Value]) -> None:
        with self._lock:
            reading.waiting -= 1
            if not reading.waiting:
                reading.given_up = True
                reading.future.cancel()
                self._forget(key, reading)

    def _read(self, key: _Key[Asked], reading: _Reading[Value]) -> _Entry[Value]:
        try:
            entry = _Entry(self._load_one_state(key, reading))
            with self._lock:
                self._cached[key] = entry
            return entry
        finally:
            with self._lock:
                self._forget(key, reading)

    def _load_one_state(self, key: _Key[Asked], reading: _Reading[Value]) -> Value:
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
            value = self._load(key.source, show, count)
        except TraceError as error:
            if _key(key.source) != key:
                raise ChangedError(key.source.address) from error
            raise
        if _key(key.source) != key:
            raise ChangedError(key.source.address)
        return value

    def _forget(self, key: _Key[Asked], reading: _Reading[Value]) -> None:
        """Remove a reading from the list, unless replaced; the caller holds the lock."""
        if self._readings.get(key) is reading:
            del self._readings[key]


class AnalysisStore(ReadingStore[TraceFile, Analysis]):
    """Analyses by file.

    Args:
        load: reads a trace file.
        cached_bytes: memory that analyses may take.
        who, at_once: as of `ReadingStore`.
    """

    def __init__(
        self,
        load: Load,
        cached_bytes: int = CACHED_BYTES,
        who: Callable[[], Wanted] = lambda: always,
        at_once: int | None = None,
    ) -> None:
        super().__init__(load, cached_bytes, lambda found: memory(found.trace), who, at_once)

    def _events(self, value: Analysis) -> int | None:
        return value.trace.event_count


def memory(trace: Trace) -> int:
    """Return about how many bytes a trace's analysis takes, with what is derived from it."""
    tables = (trace.events, trace.flows, trace.memory)
    columns: int = sum(column.nbytes for table in tables for column in astuple(table))
    texts = sum(map(sys.getsizeof, trace.strings.texts + trace.texts.texts))
    return PER_COLUMNS * (columns + texts)


def _key(source: Asked) -> _Key[Asked]:
    try:
        return _Key(source, source.state())
    except OSError as error:
        name = source.name.encode("utf-8", "replace").decode()
        raise NotFoundError(f"{name}: the file is gone; load the list again") from error


_stores: WeakSet[ReadingStore[Any, Any]] = WeakSet()


def _close_all() -> None:
    for store in list(_stores):
        store.close()


# Before the program ends it waits for the threads of every pool, and `atexit` comes later than
# that; `concurrent.futures` registers its own end in the same way.
threading._register_atexit(_close_all)  # type: ignore[attr-defined]
