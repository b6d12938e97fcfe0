"""One query on tables, in a database that can read nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from threading import Lock, Timer
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from tb_hookview.errors import HookviewError, UsageError
from tb_hookview.sql.sources import Result

if TYPE_CHECKING:
    from tb_hookview.sql.sources import Source


_LINE = re.compile(r"^LINE (\d+): ")
_KIND = re.compile(r"^[A-Z][\w-]*(?: \w+)? Error: ")
_WORD = re.compile(r"\w+")
LONGEST = 300


def require() -> Any:
    """Return DuckDB.

    Raises:
        UsageError: it is not installed, or pyarrow, through which it reads tables.
    """
    try:
        import duckdb
        import pyarrow  # noqa: F401
    except ImportError as error:
        hint = "pip install 'tb-hookview[sql]'"
        raise UsageError(f"SQL needs {error.name}, which is not installed; {hint}") from None
    return duckdb


def one_line(message: str) -> str:
    """What is wrong, and at which word of which line.

    The message quotes the line of the query after `LINE n: ` and marks the word below it.
    """
    lines = message.split("\n")
    said = _KIND.sub("", lines[0])
    hints = [line for line in lines[1:3] if line.startswith(("Did you mean", "Candidate bindings"))]
    said = " ".join([said, *hints])[:LONGEST]
    place = _place(lines)
    return f"sql: {said}" if place is None else f"sql: {said} (line {place[0]}, at {place[1]!r})"


def _place(lines: list[str]) -> tuple[int, str] | None:
    """Number of the line, and the word that is marked; None where none is."""
    for quoted, below in pairwise(lines):
        found, mark = _LINE.match(quoted), below.find("^")
        if found and mark >= 0:
            # DuckDB before 2.0 marks the first letter alone
            word = _WORD.match(quoted, mark)
            end = max(below.rfind("^") + 1, word.end() if word else 0)
            return int(found[1]), quoted[mark:end] or "the end"
    return None


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
