"""Lines of a watched training run to columns, one set for each rank."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from tb_hookview.decoders import decoder
from tb_hookview.history.files import files_by_worker, names_in, read_file
from tb_hookview.step_log import DURATIONS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

WARM_UP = 5
"""First steps that no median is over."""
_MOST_BLOCKS = 16
_MOST = 1_000_000
"""Of anything that is counted."""
_STATES = {None: 0, "warmup": 1, "recorded": 2, "after": 3}
STATE_NAMES = (None, "warmup", "recorded", "after")
_Us = float | None


class Line(msgspec.Struct):
    """A line: a header, a step or a recording."""

    watch: int | None = None
    rank: int = 0
    world_size: int = 1
    began: float = 0.0
    blocks: list[str] = []
    step: int | None = None
    time: float = 0.0
    duration_us: float = 0.0
    data_us: _Us = None
    forward_us: _Us = None
    backward_us: _Us = None
    after_backward_us: _Us = None
    optimizer_us: _Us = None
    gc_us: _Us = None
    gc_count: int = 0
    memory_bytes: int | None = None
    recording: str | None = None
    phases: bool = True
    forward: list[_Us] = []
    backward: list[_Us] = []
    recorded: str | None = None
    start: int = 0
    steps: int = 0
    reason: str = ""
    asked_by: int | None = None
    ratio: float = 0.0


class RankRows(NamedTuple):
    """The steps of one rank, in their order; unknown durations are NaN."""

    rank: int
    worker: str
    world_size: int
    began: float
    blocks: list[str]
    step: Ints
    time: Floats
    durations: Floats
    """Steps by `DURATIONS`, microseconds."""
    gc_count: Ints
    state: Ints
    """Index into `STATE_NAMES`."""
    has_phases: NDArray[np.bool_]
    """Steps in which more than loading was timed."""
    forward: Floats
    """Steps by blocks."""
    backward: Floats
    """Steps by blocks."""
    memory_bytes: int | None
    recordings: list[Line]
    lost_lines: int

    @property
    def measured(self) -> NDArray[np.bool_]:
        """Steps that medians are over."""
        chosen: NDArray[np.bool_] = (self.state == 0) & (self.step > WARM_UP)
        return chosen

    @property
    def has_blocks(self) -> NDArray[np.bool_]:
        """Steps in which blocks were timed."""
        timed = np.column_stack([self.forward, self.backward])
        return np.asarray((~np.isnan(timed)).any(1))

    def of(self, name: str) -> Floats:
        """One duration of every step."""
        return self.durations[:, DURATIONS.index(name)]


class WatchedRun(NamedTuple):
    """The newest watch of each rank, by rank."""

    path: str
    ranks: list[RankRows]
    earlier: int
    files: frozenset[str]
    """Names of all files of the folder."""


def read_run(folder: str) -> WatchedRun:
    """Read the steps of a folder.

    Raises:
        TraceError: there are none, or they cannot be read.
    """
    names = names_in(folder)
    newest: dict[int, RankRows] = {}
    count = 0
    for worker, files in files_by_worker(folder, names).items():
        contents = [read_file(folder, name) for name in files]
        for rows in _rows_of(worker, contents):
            count += 1
            if rows.rank not in newest or newest[rows.rank].began <= rows.began:
                newest[rows.rank] = rows
    ranks = [newest[rank] for rank in sorted(newest)]
    return WatchedRun(folder, ranks, count - len(ranks), frozenset(names))


def _rows_of(worker: str, contents: Iterable[bytes]) -> Iterator[RankRows]:
    """Yield the steps of each watch of a worker: files of one watch begin with the same header."""
    watches: dict[float, tuple[Line, list[Line], int]] = {}
    for content in contents:
        lines, lost = _decode(content)
        header = next((line for line in lines if line.watch is not None), None)
        if header is None:
            continue
        before = watches.get(header.began, (header, [], 0))
        watches[header.began] = (header, before[1] + lines, before[2] + lost)
    for header, lines, lost in watches.values():
        yield _columns(worker, header, lines, lost)


def _decode(content: bytes) -> tuple[list[Line], int]:
    decode = decoder(Line).decode
    lines, lost = [], 0
    for line in content.split(b"\n"):
        if line:
            try:
                lines.append(decode(line))
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                lost += 1
    return lines, lost


def _columns(worker: str, header: Line, lines: list[Line], lost: int) -> RankRows:
    steps = [line for line in lines if line.step is not None and 0 < line.step < 2**53]
    steps = sorted({line.step: line for line in steps}.values(), key=lambda line: line.step or 0)
    blocks = header.blocks[:_MOST_BLOCKS]
    durations = [[getattr(line, name) for name in DURATIONS] for line in steps]
    memory = [line.memory_bytes for line in steps if line.memory_bytes is not None]
    return RankRows(
        rank=header.rank,
        worker=worker,
        world_size=min(max(header.world_size, 1), _MOST),
        began=header.began,
        blocks=blocks,
        step=np.array([line.step for line in steps], np.int64),
        time=np.array([line.time for line in steps], np.float64),
        durations=_matrix(durations, len(DURATIONS)),
        gc_count=np.array([min(max(line.gc_count, 0), _MOST) for line in steps], np.int64),
        state=np.array([_STATES.get(line.recording, 2) for line in steps], np.int64),
        has_phases=np.array([line.phases for line in steps], bool),
        forward=_matrix([line.forward for line in steps], len(blocks)),
        backward=_matrix([line.backward for line in steps], len(blocks)),
        memory_bytes=max(memory, default=None),
        recordings=[line for line in lines if line.recorded is not None],
        lost_lines=lost,
    )


def _matrix(rows: list[Any], width: int) -> Floats:
    unknown = [None] * width
    fitting = [row if len(row) == width else unknown for row in rows]
    return np.array(fitting, np.float64).reshape(len(rows), width)


def finite(value: float) -> float | None:
    """Return a number; None for NaN."""
    return None if np.isnan(value) else float(value)
