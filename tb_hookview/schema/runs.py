"""Answers about the log directory, and about the reading of a trace."""

from __future__ import annotations

from msgspec import Struct

from tb_hookview.schema.terms import Bytes, Count, Seconds, Share, Us
from tb_hookview.schema.whatif import Bound


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
    """`per_step.duration_us` of its report."""
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
