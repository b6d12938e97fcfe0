"""Columns of what few events have: arguments, memory, occupancy; interned strings, times."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from itertools import chain, count, islice
from math import prod
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_hookview.arrays.types import Bool, Float, Index, Int, Nanoseconds
from tb_hookview.trace.columns.trace import Collectives, CudaSyncs, Memory, StringTable
from tb_hookview.trace.format.events import MemoryArguments
from tb_hookview.trace.format.vocabulary import COLLECTIVE, CUDA_SYNC, MEMORY

# Columns of what few events have: arguments, memory, occupancy; interned strings, times.


# Equal values to equal numbers.


class Interner:
    """Gives equal values equal numbers, in order of first appearance."""

    def __init__(self) -> None:
        self._numbers: defaultdict[Any, int] = defaultdict(count().__next__)

    def column(self, values: list[Any]) -> Index:
        """Number of each value."""
        return np.fromiter(map(self._numbers.__getitem__, values), np.int32, len(values))

    def number(self, value: Any) -> int:
        """Number of one value."""
        return self._numbers[value]

    def find(self, value: Any) -> int:
        """Number of one value; -1 where it has none."""
        return self._numbers.get(value, -1)

    def values(self) -> list[Any]:
        """Every distinct value, at the place of its number."""
        return list(self._numbers)

    def since(self, number: int) -> list[tuple[int, Any]]:
        """Number and value of each, from a number on."""
        return list(enumerate(islice(self._numbers, number, None), number))

    def absorbed(self, other: Interner) -> Index:
        """Number here of each value of another one, by its number there."""
        return self.column(other.values())

    def __getstate__(self) -> list[Any]:
        return self.values()

    def __setstate__(self, values: list[Any]) -> None:
        self.__init__()  # type: ignore[misc]
        self.column(values)


RareRow = tuple[Any, ...]
"""Row of the event among the complete ones, then the values of its arguments."""

_COLLECTIVE_OF, _SYNC_OF = attrgetter(*COLLECTIVE), attrgetter(*CUDA_SYNC)
_COLLECTIVE_NUMBERS = (
    "sent",
    "received",
    "group_size",
    "collective_number",
    "source_rank",
    "target_rank",
)
_NO_STREAM = 0xFFFFFFFF
"""CUPTI's number for no stream; Kineto wrote it down until 2023."""


class RareRows:
    """Rows in file order, which become tables of `Trace`."""

    def __init__(self) -> None:
        self.collectives: list[RareRow] = []
        self.cuda_syncs: list[RareRow] = []

    def add_collective(self, row: int, arguments: Any) -> None:
        """Take one collective call."""
        self.collectives.append((row, *_COLLECTIVE_OF(arguments)))

    def add_cuda_sync(self, row: int, arguments: Any) -> None:
        """Take one `cuda_sync` row."""
        self.cuda_syncs.append((row, *_SYNC_OF(arguments)))

    def absorb(self, later: RareRows, first_row: int) -> None:
        """Append rows that another process counted from a row of ours."""
        self.collectives += [(row + first_row, *values) for row, *values in later.collectives]
        self.cuda_syncs += [(row + first_row, *values) for row, *values in later.cuda_syncs]

    def collective_table(self) -> Collectives:
        """The collective calls as columns."""
        event, *values = _columns(self.collectives, len(COLLECTIVE))
        columns = dict(zip(COLLECTIVE, values, strict=True))
        decoded: dict[str, Any] = {
            name: _integers(column) if name in _COLLECTIVE_NUMBERS else tuple(map(_text, column))
            for name, column in columns.items()
        }
        return Collectives(event=_integers(event), **decoded)

    def cuda_sync_table(self) -> CudaSyncs:
        """The `cuda_sync` rows as columns."""
        event, kind, *numbers = _columns(self.cuda_syncs, len(CUDA_SYNC))
        columns = dict(zip(list(CUDA_SYNC)[1:], map(_integers, numbers), strict=True))
        for stream in (columns["stream"], columns["wait_on_stream"]):
            stream[stream == _NO_STREAM] = -1
        return CudaSyncs(event=_integers(event), kind=tuple(map(_text, kind)), **columns)


def _columns(rows: list[RareRow], arguments: int) -> list[list[Any]]:
    return list(map(list, zip(*rows, strict=True))) or [[] for _ in range(1 + arguments)]


def _integers(column: list[Any]) -> Any:
    return np.array([*map(integer, column)], np.int64)


def integer(value: object) -> int:
    """A whole number of 64 bits, or -1."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and abs(value) < 1 << 63 else -1  # type: ignore[return-value, arg-type]


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


# Events of torch's allocators, collected piece by piece.


TABLES = {"[memory]": "memory", "[OutOfMemory]": "out_of_memory"}
"""Tables of `Trace` by the names of the instants that are their rows."""

_VALUES_OF = attrgetter(*MEMORY)


class MemoryRows:
    """Rows in file order, which become tables of `Trace`."""

    def __init__(self) -> None:
        self._parts: dict[str, list[Int]] = {name: [] for name in TABLES}
        # Arrays of shape (rows, 2 + arguments): a tuple for each would take ten times the memory.

    def add(self, name: str, time: Nanoseconds, place: Index, details: list[Any]) -> None:
        """Take the instants of a piece that have a name.

        Args:
            name: key of `TABLES`.
            time, place: of each instant; places are numbered as by the builder.
            details: arguments of each, at least one: all `MemoryArguments`, or as `decode_details`
                returns them.
        """
        values: Iterable[object] = chain.from_iterable(map(_VALUES_OF, details))
        if not isinstance(details[0], MemoryArguments):
            values = map(integer, values)
        columns = np.fromiter(values, np.int64, len(details) * len(MEMORY))
        columns = columns.reshape(-1, len(MEMORY))
        self._parts[name].append(np.column_stack([time, place, columns]).astype(np.int64))

    def absorb(self, later: MemoryRows, place: Index) -> None:
        """Append rows of another process, whose places have the numbers given."""
        for name, parts in later._parts.items():
            for part in parts:
                part[:, 1] = place[part[:, 1]]
            self._parts[name] += parts

    def tables(self, thread: Index) -> dict[str, Memory]:
        """Tables by their names in `Trace`, given the thread of each place."""
        return {TABLES[name]: _table(parts, thread) for name, parts in self._parts.items()}


def _table(parts: list[Int], thread: Index) -> Memory:
    whole = np.concatenate([np.zeros((0, 2 + len(MEMORY)), np.int64), *parts])
    time, place, *arguments = np.ascontiguousarray(whole.T)
    return Memory(time, thread[place], *arguments)


# Estimated occupancy: where the profiler wrote 0 for unknown.


_WARP, _MOST_WARPS = 32, 64
"""Threads; AMD's have more, and no estimate of occupancy."""


def drop_impossible_occupancy(columns: dict[str, Any], texts: StringTable) -> None:
    """Make an occupancy of 0 with at least 1% of a multiprocessor's warps NaN, in place.

    libkineto writes 0 where its model of the device does not fit the kernel (more shared memory
    than a block has by default). A multiprocessor has 64 warps at most.
    """
    occupancy: Float = columns["occupancy"]
    blocks, shapes = columns["blocks_per_sm"], columns["block"]
    if not len(occupancy) or not len(blocks) or not len(shapes):
        return
    zero = np.flatnonzero((occupancy == 0) & ~np.isnan(blocks))
    distinct, which = np.unique(shapes[zero], return_inverse=True)
    warps = np.array([_warps(texts[shape]) for shape in distinct.tolist()], np.int64)
    occupancy[zero[100 * blocks[zero] * warps[which] >= _MOST_WARPS]] = np.nan


def _warps(block: str) -> int:
    """Warps of a block of threads, given as a JSON list; 0 where it is none."""
    try:
        sizes = json.loads(block or "null")
        threads = int(prod(sizes))
    except (ValueError, TypeError, OverflowError):
        return 0
    return -(-threads // _WARP)


# Microseconds as trace files write them, to exact integer nanoseconds.
#
# torch writes decimal microseconds with up to three decimals. Up to 2**53 ns a double holds every
# nanosecond, so reading such numbers as doubles and rounding is exact. Absolute times since 1970
# with decimals are not: at 1.7e15 us a double has steps of 0.25 us, enough to let a child outlast
# its parent. Those are parsed from their text.


LATEST_NS, EARLIEST_NS, LONGEST_NS = 2**62, -(2**61), 2**61
"""Bounds of valid starts (up to the year 2116, absolute) and durations (73 years).

So 64 bits hold what lies between the first start and the last end."""

_LARGEST_EXACT_US = 2.0**53 / 1000
_WIDEST_NUMBER = 32
_MOST_DIGITS = 16
"""Digits before the point of a time below `LATEST_NS`.

The first of 16 is at most 4."""


def are_starts(microseconds: Float) -> Bool:
    """Whether each double is a time at which an event may start."""
    return (microseconds > EARLIEST_NS / 1000) & (microseconds < LATEST_NS / 1000)


def are_whole(microseconds: Float) -> bool:
    """Whether times read as doubles are whole microseconds, whatever their text was."""
    return not bool(np.any(microseconds != np.trunc(microseconds)))


def doubles_are_exact(microseconds: Float) -> bool:
    """Whether times read as doubles hold every nanosecond, whatever their text was.

    Larger ones still hold every whole microsecond, which is all that files before torch 2.3 have.
    """
    return not bool(np.any(np.abs(microseconds) > _LARGEST_EXACT_US))


def from_doubles(microseconds: Float) -> Nanoseconds:
    """Convert microseconds (float64) to nanoseconds (int64), rounding to nearest.

    Whole and fractional parts are scaled apart, so that whole microseconds stay exact however
    large. A value that is not finite, or beyond `LATEST_NS`, becomes 0.
    """
    possible = np.abs(microseconds) < LATEST_NS / 1000
    finite = np.where(possible, microseconds, 0.0)
    whole = np.trunc(finite)
    return np.asarray(
        whole.astype(np.int64) * 1000 + np.rint((finite - whole) * 1000).astype(np.int64)
    )


def from_texts(texts: Sequence[bytes]) -> Nanoseconds:
    """Convert decimal microseconds as text (quoted or not) to nanoseconds; unreadable ones to 0."""
    if not texts:
        return np.zeros(0, np.int64)
    stripped = [text.strip(b' "') for text in texts]
    if max(map(len, stripped)) > _WIDEST_NUMBER:
        return np.array([_from_text(text) for text in stripped], np.int64)
    matrix = (
        np.array(stripped, dtype=f"S{_WIDEST_NUMBER}").view(np.uint8).reshape(-1, _WIDEST_NUMBER)
    )
    plain = np.all(((matrix >= 48) & (matrix <= 57)) | (matrix == 46) | (matrix == 0), axis=1)
    nanoseconds = _from_digits(matrix)
    large = np.all(matrix[:, :_MOST_DIGITS] >= 48, axis=1) & (matrix[:, 0] >= 52)
    lengthy = np.all(matrix[:, : _MOST_DIGITS + 1] >= 48, axis=1)
    for row in np.flatnonzero(~plain | lengthy | large):
        nanoseconds[row] = _from_text(stripped[row])
    return nanoseconds


def _from_digits(matrix: NDArray[np.uint8]) -> Nanoseconds:
    """Parse rows of ASCII digits with at most one point, column by column.

    The matrix is of shape (n, width).
    """
    value = np.zeros(len(matrix), np.int64)
    decimals = np.full(len(matrix), -1, np.int64)
    round_up = np.zeros(len(matrix), np.int64)
    for column in matrix.T:
        digit = (column >= 48) & (column <= 57)
        used, following = digit & (decimals < 3), digit & (decimals == 3)
        value[used] = value[used] * 10 + (column[used] - 48)
        round_up[following] = column[following] >= 53
        decimals[digit & (decimals >= 0)] += 1
        decimals[column == 46] = 0
    return np.asarray(value * 10 ** (3 - np.clip(decimals, 0, 3)) + round_up)


def _from_text(text: bytes) -> int:
    try:
        number = Decimal(text.decode("ascii", "replace"))
        possible = number.is_finite() and abs(number) < LATEST_NS // 1000
        return int((number * 1000).to_integral_value(ROUND_HALF_UP)) if possible else 0
    except (InvalidOperation, OverflowError):
        return 0
