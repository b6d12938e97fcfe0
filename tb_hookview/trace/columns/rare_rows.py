"""Rows of complete events with arguments that few events have."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np

from tb_hookview.trace.columns.trace import Collectives, CudaSyncs
from tb_hookview.trace.format.arguments import COLLECTIVE, CUDA_SYNC

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
