"""A query in a process of its own, whose memory and time the system bounds.

The database's own limit counts what it sorts, groups and joins. It does not count a value that a
function makes (`repeat('x', 2000000000)`), nor can such a function be interrupted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from concurrent.futures import TimeoutError as LateError
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from tb_hookview.errors import HookviewError, UsageError
from tb_hookview.sql import engine
from tb_hookview.sql.engine import Limits
from tb_hookview.sql.sources import Result, Source
from tb_hookview.tables.outlets import arrow
from tb_hookview.workers.limits import WorkerDiedError
from tb_hookview.workers.pool import Workers

if TYPE_CHECKING:
    import pyarrow

START_S = 10.0
"""Seconds that the process may take to start and to get its tables; they come on top."""
ANSWER_SHARE = 0.1
"""Part of a query's memory that its answer may take: it leaves the process."""
_SLACK_MEGABYTES = 100
"""Memory of the process outside of the database, such as stacks of its threads."""
_THREADS = 4
_WORD = re.compile(r"\w+")

_Given = Mapping[str, Any]
"""Rows of the tables that are known to be read, columns of the others."""
_Answered = tuple[str, Any]


class _UnreadError(HookviewError):
    """A table is read whose rows were not given."""


def run(query: str, sources: Mapping[str, Source], limits: Limits | None = None) -> Result:
    """Answer one query; tables that it does not read are not made.

    Raises:
        UsageError: DuckDB or pyarrow is not installed, the query has a mistake or is no single
            query, or it needs more than the limits allow.
    """
    limits = limits or Limits()
    engine.check(query)
    wanted = _tables_in(query, sources)
    while True:
        given = {
            name: source.rows() if name in wanted else source.schema()
            for name, source in sources.items()
        }
        kind, answer = _asked(query, given, limits)
        if kind == "rows":
            return Result(*answer)
        if kind == "mistake":
            raise UsageError(answer)
        wanted.update(answer)


def _tables_in(query: str, names: Iterable[str]) -> set[str]:
    """Tables whose names are words of a query.

    The database would say which it reads, but evaluates some expressions as it finds out.
    """
    words = set(_WORD.findall(query.lower()))
    return {name for name in names if name.lower() in words}


def _asked(query: str, given: _Given, limits: Limits) -> _Answered:
    with Workers(1, preload="tb_hookview.sql.confined") as workers:
        future = workers.submit(answer, query, given, limits)
        try:
            return future.result(limits.seconds + START_S)
        except LateError:
            raise UsageError(engine.too_long(limits)) from None
        except WorkerDiedError:
            raise UsageError(engine.too_much(limits)) from None
        finally:
            workers.stop(future)


def answer(query: str, given: _Given, limits: Limits) -> _Answered:
    """Answer a query within this process, which does nothing else."""
    _bound_memory(limits.megabytes + _SLACK_MEGABYTES)
    return answer_unbounded(query, given, limits)


def answer_unbounded(query: str, given: _Given, limits: Limits) -> _Answered:
    """Answer a query.

    Returns:
        "rows" with a table and whether there are more, "mistake" with what is wrong, or "unread"
        with the names of tables that the query reads, too.
    """
    sources = {name: _source(name, columns_or_rows) for name, columns_or_rows in given.items()}
    try:
        found = engine.run(query, sources, limits._replace(threads=_THREADS))
    except _UnreadError:
        return "unread", [name for name, source in sources.items() if source.error]
    except UsageError as error:
        return "mistake", str(error)
    except MemoryError:
        return "mistake", engine.too_much(limits)
    rows = found.to_arrow()
    most = limits.megabytes * ANSWER_SHARE
    if rows.nbytes > most * 1_000_000:
        return "mistake", f"sql: the answer takes more than {most:g} MB; narrow the query"
    return "rows", (rows, found.more)


def _source(name: str, given: pyarrow.Table | pyarrow.Schema) -> Source:
    if isinstance(given, arrow.require().Table):
        return Source(lambda: given.schema, lambda: given)
    return Source(lambda: given, partial(_refuse, name))


def _refuse(name: str) -> NoReturn:
    raise _UnreadError(name)


def _bound_memory(megabytes: int) -> None:
    """Let this process take so much memory more than it has; on Linux only, which counts it."""
    with suppress(ImportError, OSError, ValueError, StopIteration):
        import resource

        lines = Path("/proc/self/status").read_text().splitlines()
        has = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData:"))
        most = has + megabytes * 1_000_000
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
