"""What reading costs grows as it should: passes, calls and memory are counted, time is not."""

from __future__ import annotations

import sys
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
import pytest
from msgspec.structs import fields
from support.inflated import write_training_trace

from tb_hookview.trace import Trace, read_trace, trace_file
from tb_hookview.trace.source import inflate as inflating

STEPS = 30
TIMES = 4
"""How many times as long as the shorter trace the longer one is."""

CALLS_PER_EVENT = 0.15
"""What pieces cost is below 0.1; a call for each event of the rarest kind alone would add 0.1."""

PEAK_PER_COLUMNS = 1.5
"""The pieces of one column are still there while they are joined."""


class Pair(NamedTuple):
    """Two traces of the same kind, one longer than the other."""

    short: Path
    long: Path
    added: int
    """Events that the longer one has more."""


@pytest.fixture(scope="module", params=["json", "json.gz"])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    folder = tmp_path_factory.mktemp("shape")
    short, long = (folder / f"{name}.pt.trace.{request.param}" for name in ("short", "long"))
    events = [write_training_trace(short, STEPS), write_training_trace(long, TIMES * STEPS)]
    for path in (short, long):
        read_trace(path)  # what a first reading loads and keeps is not counted below
    return Pair(short, long, events[1] - events[0])


def test_the_traces_are_of_several_pieces(pair: Pair) -> None:
    """Otherwise nothing below says anything of how pieces add up."""
    assert sum(map(len, inflating.blocks(trace_file(pair.short)))) > 2 * inflating.BLOCK
    assert read_trace(pair.long).event_count - read_trace(pair.short).event_count == pair.added


def test_a_file_is_read_once(pair: Pair) -> None:
    """The bytes that the system handed out are those of the file, and little else."""
    counter = Path("/proc/self/io")
    if not counter.exists():
        pytest.skip("only Linux counts the bytes that a process reads (/proc/self/io)")
    before = _read_bytes(counter)
    read_trace(pair.long)
    read = _read_bytes(counter) - before
    assert read < 1.1 * pair.long.stat().st_size + 10_000


def test_a_file_is_opened_once(pair: Pair) -> None:
    with _opened(pair.long) as opened:
        read_trace(pair.long)
    assert opened == [str(pair.long)]


def test_no_function_is_called_for_each_event(pair: Pair) -> None:
    short, long = (_calls(lambda path=path: read_trace(path)) for path in pair[:2])
    assert (long - short) / pair.added < CALLS_PER_EVENT


def test_calls_are_counted() -> None:
    """The counter sees calls of Python's functions and of C's, in every thread; of C's classes
    (`int(text)`) it sees none."""

    def work() -> None:
        for number in range(100):
            abs(number)
            str.upper("a")

    assert _calls(work) >= 200
    assert _calls(lambda: _in_a_thread(work)) >= 200


def test_memory_is_that_of_the_columns(pair: Pair) -> None:
    short, long = (_peak(path) for path in pair[:2])
    added = [long[part] - short[part] for part in (0, 1)]
    assert added[0] < PEAK_PER_COLUMNS * added[1]


def _read_bytes(counter: Path) -> int:
    return int(dict(line.split(": ") for line in counter.read_text().splitlines())["rchar"])


_watched: list[tuple[str, list[str]]] = []


@contextmanager
def _opened(path: Path) -> Iterator[list[str]]:
    """Note each time a file is opened; the hook stays, for none can be taken off again."""
    if not _watched:
        sys.addaudithook(_note)
    opened: list[str] = []
    _watched.append((str(path), opened))
    yield opened
    _watched[-1:] = [("", [])]


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and _watched and str(arguments[0]) == _watched[-1][0]:
        _watched[-1][1].append(str(arguments[0]))


def _calls(work: Callable[[], object]) -> int:
    """Functions called while something works, in this thread and those it starts."""
    count = 0

    def note(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return count


def _in_a_thread(work: Callable[[], object]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def _peak(path: Path) -> tuple[int, int]:
    """Most bytes held while reading, and those of the columns that were read."""
    tracemalloc.start()
    try:
        trace = read_trace(path)
        return tracemalloc.get_traced_memory()[1], _column_bytes(trace)
    finally:
        tracemalloc.stop()


def _column_bytes(trace: Trace) -> int:
    groups = (trace.events, trace.flows, trace.memory, trace.collectives, trace.cuda_syncs)
    columns = [getattr(group, field.name) for group in groups for field in fields(group)]
    return sum(column.nbytes for column in columns if isinstance(column, np.ndarray))
