"""What reads the traces: processes of this machine, Dask or MPI, by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

from tb_hookview.errors import HookviewError, UsageError
from tb_hookview.trace.source.file import TraceFile
from tb_hookview.trace.source.inflate import estimated_size
from tb_hookview.workers.limits import available_bytes, cores, processes
from tb_hookview.workers.pool import Workers

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


NAMES = "processes:N, dask, dask:ADDRESS or mpi"
_HERE = "tb_hookview.ranks.run"
_CONNECT_S = 10


@contextmanager
def executor_of(which: Executor | str | None, files: Sequence[TraceFile]) -> Iterator[Executor]:
    """Give an executor, and end it if it was started here.

    Args:
        which: an executor, or its name; None for processes of this machine.
        files: traces that will be read.

    Raises:
        UsageError: there is none of that name, or it cannot be reached.
    """
    if which is None or isinstance(which, str):
        name, _, of = (which or "processes").partition(":")
        started = {"processes": _workers, "dask": _dask, "mpi": _mpi}.get(name)
        if started is None or (of and name == "mpi"):
            raise UsageError(f"there is no executor {which!r}: {NAMES}")
        with started(of, files) as executor:
            yield executor
    else:
        yield which


@contextmanager
def _workers(number: str, files: Sequence[TraceFile]) -> Iterator[Executor]:
    if number and not (number.isascii() and number.isdigit() and int(number[:9]) > 0):
        raise UsageError(f"processes:{number[:40]}: name a whole number above 0")
    most = min(int(number[:9]) if number else processes(), len(files))
    workers = Workers(most if number else at_once(files, most), _HERE)
    try:
        yield workers
    finally:
        workers.shutdown(cancel_futures=True)


@contextmanager
def _dask(address: str, files: Sequence[TraceFile]) -> Iterator[Executor]:
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise UsageError("dask is not installed: pip install 'tb-hookview[dask]'") from error
    local: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": ":0"}
    try:
        client = Client(
            address or LocalCluster(at_once(files, min(cores(), len(files))), **local),
            timeout=_CONNECT_S,
        )
    except (OSError, ValueError, RuntimeError) as error:
        raise UsageError(f"no Dask scheduler at {address or 'this machine'}: {error}") from error
    try:
        yield client.get_executor()
    finally:
        client.close(timeout=_CONNECT_S)
        if client.cluster is not None:
            client.cluster.close(timeout=_CONNECT_S)


@contextmanager
def _mpi(_of: str, files: Sequence[TraceFile]) -> Iterator[Executor]:
    try:
        from mpi4py.futures import MPIPoolExecutor
    except (ImportError, RuntimeError) as error:
        raise UsageError(
            f"mpi4py cannot be used ({error}): pip install 'tb-hookview[mpi]', with an MPI"
        ) from error
    with MPIPoolExecutor(len(files)) as executor:
        yield executor
