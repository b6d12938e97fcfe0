"""Files of a watched training run: names, and the members of a row.

Recorder and reader share only this file, so it imports nothing but the standard library. A file is
lines of JSON: a header, then one row per step. Rows are in the order of the steps; a file that was
full goes on in the next one, with a header of its own.
"""

from __future__ import annotations

import re

VERSION = 1
"""Version of the rows; a reader reads its own and all earlier ones."""

ENDING = "steps.jsonl"
"""`<worker>.<time>.steps.jsonl`, time in nanoseconds since the epoch."""

REQUEST = "record"
"""Name of the file that asks a watched training run to record; its content is JSON, or nothing."""

FOLDER = ".hookview-watch"
"""Folder, next to the files, in which the ranks of a run without a store agree on recordings."""

DURATIONS = (
    "duration_us",
    "data_us",
    "forward_us",
    "backward_us",
    "after_backward_us",
    "optimizer_us",
    "gc_us",
)
"""Whole microseconds; null for unknown."""

REASONS = ("start", "slow", "every", "signal", "file", "call")
"""What may ask for a recording."""

_NAME = re.compile(r"(.+)\.([0-9]+)\.steps\.jsonl\Z")


def file_name(worker: str, time_ns: int) -> str:
    """Return the name of a file of steps."""
    return f"{worker}.{time_ns}.{ENDING}"


def parse_file_name(name: str) -> tuple[str, int] | None:
    """Return worker and time of a file of steps; None for another file."""
    found = _NAME.match(name)
    return None if found is None else (found[1], int(found[2]))
