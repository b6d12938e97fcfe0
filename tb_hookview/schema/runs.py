"""Answers about the log directory and the reading of a trace; errors; SQL."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from tb_hookview.schema.findings import Bound
from tb_hookview.schema.tables import TableColumn
from tb_hookview.schema.terms import Bytes, Count, Seconds, Share, Us

# The answer to a question that has none.


ErrorKind = Literal["usage", "not_found", "trace", "internal", "unwanted"]


class ErrorDetail(Struct, frozen=True):
    """Reason for the lack of an answer."""

    kind: ErrorKind
    message: str
    """One line for a person."""


class ErrorAnswer(Struct, frozen=True):
    """The body of every answer with an error's status."""

    error: ErrorDetail


class ListedTrace(Struct, frozen=True):
    """One trace file."""

    id: str
    """The digits in the file's name; its name where two files have the same."""
    file: str
    bytes: Bytes
    """Size of the file, as it lies on the disk."""
    modified: Seconds
    """Since 1970."""


class ListedWorker(Struct, frozen=True):
    """The traces that one process wrote, newest first."""

    name: str
    traces: list[ListedTrace]


class ListedRun(Struct, frozen=True):
    """A folder with traces."""

    name: str
    """Its path relative to the log directory, "." for that itself."""
    workers: list[ListedWorker]


class LeftOut(Struct, frozen=True):
    """Parts of the log directory that are not listed."""

    links: Count
    """Links that lead out of it."""
    folders: Count
    """Folders that cannot be listed."""


class Runs(Struct, frozen=True):
    """The log directory."""

    logdir: str
    version: str
    runs: list[ListedRun]
    left_out: LeftOut
    dry_run: str | None = None
    """Name of the dry run that is served in the place of traces."""


class KnownTrace(Struct, frozen=True):
    """What is known of the newest trace of a worker without reading it: its report was cached."""

    run: str
    worker: str
    step_us: Us | None
    """Mean length of its steps: on the device where they take longer there, else on the host."""
    devices: list[str]
    """Names of its devices, each once; empty without device events."""
    bound: Bound
    """`verdict.bound` of its report, as the next."""
    sentence: str


class ReadingProgress(Struct, frozen=True):
    """Progress of the reading of a trace, or of those of a run; null where unknown."""

    stage: str
    """ "waiting", "downloading", "decoding", "columns", "attribution", "done"; of a run "ranks"."""
    done: Share | None
    """Of the stage."""
    bytes: Bytes | None = None
    """Bytes of the file that were read, as it lies on the disk."""
    events: Count | None = None
    """Events that were read."""


# What can be asked in SQL, and its answer.


class SqlTable(Struct, frozen=True):
    """A table that a query can read."""

    name: str
    description: str
    columns: list[TableColumn]


class SqlTables(Struct, frozen=True):
    """The tables that a query can read."""

    missing: str | None
    """How to get what answers queries; null where it is installed."""
    tables: list[SqlTable]


class SqlColumn(Struct, frozen=True):
    """A column of an answer."""

    name: str
    type: str
    """As Arrow writes it: "string", "int64", "double", ..."""


class SqlAnswer(Struct, frozen=True):
    """The rows that answer a query."""

    columns: list[SqlColumn]
    rows: list[list[Any]]
    """One list of values for each row; a decimal number is a number here."""
    total: Count | None
    """Rows of the query; null where it has more than were counted."""
