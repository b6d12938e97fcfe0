"""The analyses that are kept, so that a trace is read once however often it is looked at."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, TypeVar

import msgspec

from tb_hookview.analysis import Analysis, load
from tb_hookview.errors import NotFoundError

KEPT_BYTES = 2 << 30
"""How many bytes of trace, inflated, are kept as analyses. One more than that is kept alone."""

INFLATION = 16
"""How many times larger a trace is than its gzip file, about (torch's: 13 to 29)."""

Derived = TypeVar("Derived")
Show = Callable[[str, float | None], None]
"""Called with the stage a reading is in and the fraction of it done, or None."""


class Progress(msgspec.Struct, frozen=True):
    """How far the reading of a trace is; `done` is a fraction of the stage, or None."""

    stage: str
    done: float | None


WAITING = Progress("waiting", None)


class _Key(NamedTuple):
    """One state of one file; a file that is written anew is another trace."""

    path: Path
    size: int
    modified_ns: int


@dataclass
class _Entry:
    analysis: Future[Analysis] = field(default_factory=Future)
    progress: Progress = WAITING
    derived: dict[Any, Any] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)


class AnalysisStore:
    """Analyses by file, least recently used ones dropped first. Safe to use from many threads."""

    def __init__(
        self, load: Callable[[Path, Show], Analysis] = load, kept_bytes: int = KEPT_BYTES
    ) -> None:
        self._load = load
        self._kept_bytes = kept_bytes
        self._entries: OrderedDict[_Key, _Entry] = OrderedDict()
        self._lock = Lock()

    def get(self, path: Path) -> Analysis:
        """Return the analysis of a trace file, reading it if need be.

        Whoever asks for a trace that is being read waits for that reading. One that fails is
        forgotten, so that the next to ask tries again.

        Raises:
            NotFoundError: the file is gone.
            TraceError: it cannot be read as a trace.
        """
        return self._entry(path).analysis.result()

    def derived(self, path: Path, make: Callable[[Analysis], Derived]) -> Derived:
        """Return what `make` makes of the analysis of a trace file; it is made once, and kept as
        long as the analysis is.

        Raises:
            NotFoundError, TraceError: as `get`.
        """
        entry = self._entry(path)
        analysis = entry.analysis.result()
        with entry.lock:
            if make not in entry.derived:
                entry.derived[make] = make(analysis)
            made: Derived = entry.derived[make]
        return made

    def _entry(self, path: Path) -> _Entry:
        key = _key(path)
        with self._lock:
            entry = self._entries.get(key)
            mine = entry is None
            if entry is None:
                entry = self._entries[key] = _Entry()
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
        def show(stage: str, done: float | None) -> None:
            entry.progress = Progress(stage, done)

        try:
            analysis = self._load(key.path, show)
        except BaseException as error:  # noqa: BLE001  # those who wait must hear of it
            with self._lock:
                self._entries.pop(key, None)
            entry.analysis.set_exception(error)
        else:
            entry.progress = Progress("done", 1.0)
            entry.analysis.set_result(analysis)
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        with self._lock:
            ready = [key for key, entry in self._entries.items() if entry.analysis.done()]
            total = sum(map(_inflated, ready))
            for key in ready[:-1]:
                if total <= self._kept_bytes:
                    return
                total -= _inflated(key)
                del self._entries[key]


def _key(path: Path) -> _Key:
    try:
        status = path.stat()
    except OSError as error:
        raise NotFoundError(f"{path.name}: the file is gone; load the list again") from error
    return _Key(path, status.st_size, status.st_mtime_ns)


def _inflated(key: _Key) -> int:
    return key.size * (INFLATION if key.path.suffix == ".gz" else 1)
