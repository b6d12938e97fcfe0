"""Events of some pieces of a file, as one process sends them to another."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from tb_hookview.trace.columns.rare_rows import RareRow

Arrow = tuple[int | str, int, int]
"""One end of a flow: its identity, its place, its time in nanoseconds.

A plain tuple: a class of its own would cost a call for each."""


class Part(msgspec.Struct):
    """The state of a `Builder`.

    It numbers values in order of their appearance in its own pieces.
    """

    event_count: int
    complete_count: int
    any_phase: bool
    counts: dict[str, int]
    names: list[str]
    categories: list[str]
    processes: list[int | str]
    rows: list[int | str]
    places: list[int]
    """Numbers of process and row of each place, as one."""
    texts: dict[str, list[bytes]]
    """Values of each text column."""
    columns: dict[str, NDArray[np.generic]]
    """Columns of the complete events."""
    arrows: dict[str, list[Arrow]]
    """By phase."""
    memory: list[tuple[int, ...]]
    collectives: list[RareRow]
    cuda_syncs: list[RareRow]
    thread_names: list[tuple[str, str, str]]
