"""One query on tables, in a database that can read nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock, Timer
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from tb_hookview.errors import HookviewError, UsageError
from tb_hookview.sql.mistakes import one_line, require
from tb_hookview.sql.result import Result

if TYPE_CHECKING:
    from tb_hookview.sql.sources import Source

CLOSED = {
    "python_enable_replacements": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "max_temp_directory_size": "'0B'",
    "enable_external_access": "false",
    "lock_configuration": "true",
}
"""Settings after which a query reaches no file, no network, no extension and no variable."""
_NO_TABLE = re.compile(r"Table with name (\S+) does not exist")


class Limits(NamedTuple):
    """Bounds of one query."""

    rows: int = 100_000
    seconds: float = 30.0
    """Of the database; the time in which tables are made comes on top."""
    megabytes: int = 1000
    """Of the process that answers; the tables that the query reads come on top."""
    threads: int | None = None
    """Of the database; one for each core by default."""


def run(query: str, sources: Mapping[str, Source], limits: Limits) -> Result:
    """Answer one query in this process; `confined` bounds one."""
    check(query)
    with _database(sources, limits) as database, _mistakes(sources, limits):
        return Result.of(database.sql(query), limits.rows)


def check(query: str) -> None:
    """Refuse what is not one query: several, or one that changes something.

    Raises:
        UsageError: as `run`.
    """
    with _mistakes({}, Limits()):
        statements = require().extract_statements(query)
    if len(statements) != 1:
        raise UsageError(f"sql: one query at a time; here are {len(statements)}")
    kinds = require().StatementType
    if statements[0].type not in (kinds.SELECT, kinds.EXPLAIN):
        raise UsageError(f"sql: only queries that read; {statements[0].type.name} is not one")


@contextmanager
def _database(sources: Mapping[str, Source], limits: Limits) -> Iterator[Any]:
    """A database with the tables and nothing else, which stops when the time is over."""
    database = require().connect(":memory:")
    deadline = _Deadline(database.interrupt, limits.seconds)
    try:
        database.execute(f"SET memory_limit='{limits.megabytes}MB'")
        if limits.threads is not None:
            database.execute(f"SET threads={limits.threads}")
        for name, source in sources.items():
            source.pause = deadline.pause
            database.register(name, source)
        for name, value in CLOSED.items():
            database.execute(f"SET {name}={value}")
        deadline.release()
        yield database
    finally:
        deadline.hold()
        database.close()


class _Deadline:
    """Calls a function after some seconds in which nothing holds it. Safe from many threads."""

    def __init__(self, call: Callable[[], object], seconds: float) -> None:
        self._call, self._left = call, seconds
        self._lock, self._holds = Lock(), 1
        self._timer, self._since = Timer(seconds, call), 0.0

    def release(self) -> None:
        """Let time pass where nothing else holds it."""
        with self._lock:
            self._holds -= 1
            if self._holds == 0:
                self._timer, self._since = Timer(self._left, self._call), monotonic()
                self._timer.daemon = True
                self._timer.start()

    def hold(self) -> None:
        """Let no time pass."""
        with self._lock:
            self._holds += 1
            if self._holds == 1:
                self._timer.cancel()
                self._left = max(0.0, self._left - (monotonic() - self._since))

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Let no time pass in a block."""
        self.hold()
        try:
            yield
        finally:
            self.release()


@contextmanager
def _mistakes(sources: Mapping[str, Source], limits: Limits) -> Iterator[None]:
    duckdb = require()
    try:
        yield
    except duckdb.InterruptException:
        raise UsageError(too_long(limits)) from None
    except duckdb.OutOfMemoryException:
        raise UsageError(too_much(limits)) from None
    except duckdb.PermissionException:
        raise UsageError("sql: only tables can be read, no files, network or settings") from None
    except duckdb.Error as error:
        raise _of_table(sources) or UsageError(_told(str(error), sources)) from None


def too_long(limits: Limits) -> str:
    """What is said of a query that takes longer."""
    return f"sql: stopped after {limits.seconds:g} s; narrow the query"


def too_much(limits: Limits) -> str:
    """What is said of a query that takes more memory."""
    return f"sql: more than {limits.megabytes:,} MB needed; narrow the query"


def _of_table(sources: Mapping[str, Source]) -> HookviewError | None:
    """What went wrong while a table was made; the database says it in other words."""
    return next((source.error for source in sources.values() if source.error), None)


def _told(message: str, sources: Mapping[str, Source]) -> str:
    there = f"; there are {', '.join(sources)}" if _NO_TABLE.search(message) else ""
    return one_line(message) + there
