"""How many traces are read at once: one for each core, as far as memory allows."""

from __future__ import annotations

from collections.abc import Sequence

from tb_hookview.errors import HookviewError
from tb_hookview.trace.source.file import TraceFile
from tb_hookview.trace.source.size import estimated_size
from tb_hookview.workers.limits import available_bytes

PROCESS_BYTES = 100 << 20
"""Memory of a process that reads a small trace (measured: 48 to 76 MB)."""
PER_BYTE = 1.2
"""Memory for each byte of JSON beyond that (measured: 0.5 to 1.1)."""
USED = 0.8
"""Part of the free memory that is used."""


def at_once(files: Sequence[TraceFile], most: int, free: int | None = None) -> int:
    """Number of traces that fit into memory at once, at least 1.

    Args:
        files: the traces.
        most: number of them that is of use.
        free: bytes of free memory; this machine's by default.
    """
    room = available_bytes() if free is None else free
    if room is None:
        return most
    needed = 0.0
    for count, size in enumerate(_largest(files, most)):
        needed += PROCESS_BYTES + PER_BYTE * size
        if needed > USED * room:
            return max(1, count)
    return most


def _largest(files: Sequence[TraceFile], count: int) -> list[int]:
    """Bytes of JSON in the largest files, largest first; 0 for what cannot be opened."""
    stored = sorted(files, key=_stored)
    return sorted(map(_inflated, stored[-count:]), reverse=True)


def _stored(file: TraceFile) -> int:
    try:
        return file.size
    except OSError:  # whoever reads it says what is wrong
        return 0


def _inflated(file: TraceFile) -> int:
    try:
        return estimated_size(file)
    except (OSError, HookviewError):
        return 0
