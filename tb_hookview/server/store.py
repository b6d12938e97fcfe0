"""The analyses that are kept, so that a trace is read once however often it is looked at."""

from __future__ import annotations

import atexit
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple, TypeVar
from weakref import WeakSet

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.cache import FileState, file_state
from tb_hookview.errors import NotFoundError, TraceError
from tb_hookview.loading.cached import load
from tb_hookview.schema.runs import Progress
from tb_hookview.server.held import Held
from tb_hookview.server.turns import Turns
from tb_hookview.server.waiting import UnwantedError, Wanted, always
from tb_hookview.trace.coworker import cores

KEPT_BYTES = 2 << 30
"""How many bytes of columns, and of what was made of them, are kept. What is larger than that is
kept alone."""

ATTEMPTS = 2
"""How often a file is read that is written to meanwhile, before its reader is told so."""

STOPS_WITHIN_S = 5.0
"""How long the end of the program waits for readings to stop, in seconds."""

ASKED_EVERY_S = 0.2
"""How often a reading looks whether anybody still waits for it, in seconds."""

Derived = TypeVar("Derived")
Show = Callable[[str, float | None], None]
"""Called with the stage a reading is in and the fraction of it done, or None."""
Count = Callable[[int], None]
"""Called with the number of events read so far."""
Load = Callable[[Path, Show, Count], Analysis]

WAITING = Progress("waiting", None)


class ChangedError(TraceError):
    """The file was written to while it was read."""

    def __init__(self, path: Path) -> None:
        reason = "is being written to"
        super().__init__(path, reason, "load it again when whoever writes it is done")


class _Key(NamedTuple):
    """One state of one file; a file that is written anew is another trace."""

    path: Path
    state: FileState


@dataclass
class _Entry:
    analysis: Future[Analysis] = field(default_factory=Future)
    progress: Progress = WAITING
    derived: dict[Any, Any] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)
    waiting: list[Wanted] = field(default_factory=list)
    """Of each who asked while it was read, whether they still wait."""
    held: Held = field(default_factory=Held)
    bytes: int = 0
    """Memory that the analysis and what was derived from it took when last asked for."""

    def measure(self) -> None:
        self.bytes = self.held.bytes(self.analysis.result(), self.derived)


class AnalysisStore:
    """Analyses by file, least recently used ones dropped first. Safe to use from many threads."""

    def __init__(
        self,
        load: Load = load,
        kept_bytes: int = KEPT_BYTES,
        who: Callable[[], Wanted] = lambda: always,
        at_once: int | None = None,
    ) -> None:
        """Make an empty store.

        Args:
            load: reads a trace file.
            kept_bytes: memory of analyses that are kept, beside the one asked for last.
            who: returns, for whoever is asking now, whether they still wait for the answer.
            at_once: how many traces are read at a time; as many as there are processors if None.
        """
        self._load = load
        self._kept_bytes = kept_bytes
        self._who = who
        self._turns = Turns(at_once or cores())
        self._entries: OrderedDict[_Key, _Entry] = OrderedDict()
        self._lock = Lock()
        self._closed = False
        _stores.add(self)

    def get(self, path: Path) -> Analysis:
        """Return the analysis of a trace file, reading it if need be.

        Whoever asks for a trace that is being read waits for that reading. One that fails is
        forgotten, so that the next to ask tries again. One that nobody waits for any more stops.
        What is returned is one state of the file: one that is written to meanwhile is read anew.

        Raises:
            NotFoundError: the file is gone.
            TraceError: it cannot be read as a trace, or is being written to.
            UnwantedError: whoever asked has gone, or the store was closed.
        """
        return self._read(path).analysis.result()

    def derived(self, path: Path, make: Callable[[Analysis], Derived]) -> Derived:
        """Return what `make` makes of the analysis of a trace file; it is made once, and kept as
        long as the analysis is.

        Raises:
            NotFoundError, TraceError, UnwantedError: as `get`.
        """
        entry = self._read(path)
        analysis = entry.analysis.result()
        with entry.lock:
            if make not in entry.derived:
                entry.derived[make] = make(analysis)
            made: Derived = entry.derived[make]
        # It may grow with every question, so it is measured whenever the next one comes.
        with self._lock:
            entry.measure()
            self._drop_oldest()
        return made

    def close(self) -> None:
        """Give up all readings, and wait until they have stopped; further ones are refused."""
        with self._lock:
            self._closed = True
            reading = [entry.analysis for entry in self._entries.values()]
        wait(reading, STOPS_WITHIN_S)

    def _read(self, path: Path) -> _Entry:
        wanted, changed = self._who(), 0
        while True:
            entry = self._entry(path, wanted)
            try:
                entry.analysis.result()
            except UnwantedError:
                # Given up a moment before we asked: begun anew for who still waits.
                if self._closed or not wanted():
                    raise
            except ChangedError:
                changed += 1
                if changed == ATTEMPTS:
                    raise
            else:
                return entry

    def _entry(self, path: Path, wanted: Wanted) -> _Entry:
        key = _key(path)
        with self._lock:
            entry = self._entries.get(key)
            mine = entry is None
            if entry is None:
                entry = self._entries[key] = _Entry()
            if not entry.analysis.done():
                entry.waiting.append(wanted)
            self._entries.move_to_end(key)
        if mine:
            self._fill(key, entry)
        return entry

    def progress(self, path: Path) -> Progress:
        """Return how far the reading of a trace file is; "waiting" if nobody asked for it."""
        with self._lock:
            entry = self._entries.get(_key(path))
        return entry.progress if entry else WAITING

    def _fill(self, key: _Key, entry: _Entry) -> None:
        asked, events = monotonic(), 0

        def show(stage: str, done: float | None) -> None:
            nonlocal asked
            read = round(key.state.size * (done or 0.0)) if stage == "decoding" else key.state.size
            entry.progress = Progress(stage, done, read, events)
            if monotonic() - asked >= ASKED_EVERY_S:
                asked = monotonic()
                self._give_up_unwanted(key, entry)

        def count(number: int) -> None:
            nonlocal events
            events = number

        def look() -> None:
            self._give_up_unwanted(key, entry)

        try:
            with self._turns.turn(look, ASKED_EVERY_S):
                if self._closed:
                    raise UnwantedError
                analysis = self._load_one_state(key, show, count)
        except BaseException as error:  # noqa: BLE001  # those who wait must hear of it
            self._forget(key, entry)
            entry.analysis.set_exception(error)
        else:
            entry.progress = Progress("done", 1.0, key.state.size, analysis.trace.event_count)
            entry.analysis.set_result(analysis)
            with self._lock:
                entry.measure()
                self._drop_oldest()
        entry.waiting.clear()

    def _load_one_state(self, key: _Key, show: Show, count: Count) -> Analysis:
        try:
            analysis = self._load(key.path, show, count)
        except TraceError as error:
            if _key(key.path) != key:
                raise ChangedError(key.path) from error
            raise
        if _key(key.path) != key:
            raise ChangedError(key.path)
        return analysis

    def _give_up_unwanted(self, key: _Key, entry: _Entry) -> None:
        with self._lock:
            entry.waiting = [wanted for wanted in entry.waiting if wanted()]
            if entry.waiting and not self._closed:
                return
        self._forget(key, entry)
        raise UnwantedError

    def _forget(self, key: _Key, entry: _Entry) -> None:
        with self._lock:
            if self._entries.get(key) is entry:
                del self._entries[key]

    def _drop_oldest(self) -> None:
        """Drop what was not asked for the longest until the rest fits; with the lock held."""
        ready = [key for key, entry in self._entries.items() if entry.analysis.done()]
        total = sum(self._entries[key].bytes for key in ready)
        for key in ready[:-1]:
            if total <= self._kept_bytes:
                return
            total -= self._entries.pop(key).bytes


_stores: WeakSet[AnalysisStore] = WeakSet()


@atexit.register
def _close_all() -> None:
    # Readings are on threads that end with the program wherever they are: what they hold outside
    # of it, such as another process, would be left behind.
    for store in list(_stores):
        store.close()


def _key(path: Path) -> _Key:
    try:
        return _Key(path, file_state(path))
    except OSError as error:
        name = path.name.encode("utf-8", "replace").decode()
        raise NotFoundError(f"{name}: the file is gone; load the list again") from error
