"""Adding marks to a trace file that torch wrote."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from typing import Any

from tb_hookview.recorder.backward_marks_from_trace import Mark

# Within a JSON string a quote has a backslash before it, so neither matches there.
_EVENTS = re.compile(rb'"traceEvents"\s{0,20}:\s{0,20}\[(?=\s{0,20}(\S))')
_BASE = re.compile(rb'"baseTimeNanoseconds"\s{0,20}:\s{0,20}(\d{1,19})(?!\d)')
_LONGEST = 128
"""Bytes; no match is longer."""
_CHUNK = 1 << 20


def copy(source: Any, target: Any, marks: Sequence[Mark]) -> bool:
    """Copy a trace file, with marks in front of the events in it.

    Of torch's writers one puts each event into a line of its own, another the whole file into one
    line. Only a part of the file is in memory at a time.

    Args:
        source: open binary file that can seek.
        target: open binary file.
        marks: what to add.

    Returns:
        False if the file has no list of events, and the copy therefore no marks.
    """
    events = _find(source, _EVENTS) if marks else None
    if events is not None:
        begin, first = events
        base = _find(source, _BASE)
        base_ns = 0 if base is None else int(base[1])
        rows = b",\n".join(_row(mark, base_ns) for mark in marks)
        source.seek(0)
        _copy_bytes(source, target, begin)
        target.write(b"\n" + rows + (b"\n" if first == b"]" else b",\n"))
    else:
        source.seek(0)
    shutil.copyfileobj(source, target, _CHUNK)
    return events is not None or not marks


def _find(source: Any, pattern: re.Pattern[bytes]) -> tuple[int, bytes] | None:
    """Return where the first match ends, and its group 1."""
    source.seek(0)
    offset, text = 0, b""
    while chunk := source.read(_CHUNK):
        text += chunk
        # What reaches the end of the text may be cut.
        if (match := pattern.search(text)) and match.end(1) < len(text):
            return offset + match.end(), match[1]
        offset += max(len(text) - _LONGEST, 0)
        text = text[-_LONGEST:]
    return None


def _copy_bytes(source: Any, target: Any, count: int) -> None:
    while count:
        chunk = source.read(min(count, _CHUNK))
        target.write(chunk)
        count -= len(chunk)


def _row(mark: Mark, base_ns: int) -> bytes:
    microseconds, rest = divmod(mark.time - base_ns, 1000)
    return (
        f'  {{"ph": "X", "cat": "cpu_op", "name": {json.dumps(mark.name)}, "pid": {mark.process},'
        f' "tid": {mark.thread}, "ts": {microseconds}.{rest:03d}, "dur": 0, "args": {{}}}}'
    ).encode()
